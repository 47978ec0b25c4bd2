"""Addresses of other servers, as the deployment and its administrators write them; pure."""

from urllib.parse import urlsplit


def http_url(text: str) -> str:
    """A URL of the web with a host, that holds no user and no fragment."""
    expected = "a URL of scheme http or https and a host, such as https://auth.example.org/token"
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(expected) from None
    printable = text.isascii() and text.isprintable() and " " not in text
    if parts.scheme not in {"http", "https"} or not host or "@" in parts.netloc or parts.fragment or not printable:
        raise ValueError(expected)
    return text
