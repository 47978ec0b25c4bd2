"""``ctfplatform check-config``: what a deployment decides, and where each value came from; secrets are masked."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ctfd_twisted.settings import ROLES, Bucket, MailServer, OAuthServer, Settings
from ctfd_twisted.settings.reading import Configuration
from ctfd_twisted.settings.table import CONFIG, OPTIONS
from ctfd_twisted.settings.values import MEBIBYTE, masked_url

#: What CTFd reads from its environment and this platform does not.
CTFD_ONLY = frozenset(
    {
        *(f"DATABASE_{name}" for name in ("PROTOCOL", "HOST", "PORT", "USER", "PASSWORD", "NAME")),
        *(f"REDIS_{name}" for name in ("URL", "PROTOCOL", "HOST", "PORT", "USER", "PASSWORD", "DB")),
        *("MAIL_USEAUTH", "MAILSENDER_ADDR", "MAIL_PROVIDER", "MAILGUN_API_KEY", "MAILGUN_BASE_URL"),
        *("SESSION_COOKIE_HTTPONLY", "SESSION_COOKIE_SAMESITE", "PERMANENT_SESSION_LIFETIME"),
        *("CROSS_ORIGIN_OPENER_POLICY", "LOG_FOLDER", "THEME_FALLBACK"),
        *("SWAGGER_UI", "UPDATE_CHECK", "RUN_ID", "HTML_SANITIZATION", "SAFE_MODE"),
        *("PRESET_CONFIGS", "EXTRA_CONFIGS_FORCE_TYPES"),
        *("SQLALCHEMY_MAX_OVERFLOW", "SQLALCHEMY_POOL_PRE_PING"),
    }
)
_OURS = frozenset(name for option in (CONFIG, *OPTIONS) for name in option.environment)
_MASK = "********"


def report(configuration: Configuration, environ: Mapping[str, str]) -> Iterator[str]:
    """The lines of the report: one for each option, and below them what of the environment means nothing here."""
    settings = configuration.settings
    shown = {
        "listen": " ".join(settings.listen),
        "database": masked_url(settings.database),
        "data-dir": str(settings.data_dir),
        "uploads": _uploads(settings.uploads),
        "upload-limit": str(settings.upload_limit // MEBIBYTE),
        "public-url": settings.public_url or "as requested",
        "trusted-proxies": ",".join(str(network) for network in settings.trusted_proxies) or "none",
        "roles": ",".join(role for role in ROLES if role in settings.roles),
        "workers": str(settings.workers),
        "metrics": settings.metrics or "none",
        "malformed-payload-status": str(settings.malformed_payload_status),
        "webhook-header-prefix": settings.webhook_header_prefix,
        "application-root": settings.application_root or "/",
        "trusted-hosts": ",".join(settings.trusted_hosts) or "any",
        "secret-key-file": _key(configuration),
        "preset-admin-file": _preset_admin(settings),
        "password-rounds": str(settings.password_rounds),
        "confirmation-button": "true" if settings.confirmation_button else "false",
        "server-sent-events": "true" if settings.server_sent_events else "false",
    }
    rows = [(name, text, configuration.origins[name]) for name, text in shown.items()]
    rows.append(("mail server", *_mail(settings.mail)))
    rows.append(("MajorLeagueCyber", *_oauth(settings.oauth)))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, text, origin in rows:
        yield f"{name:{widths[0]}}  {text:{widths[1]}}  ({origin})"
    meaningless = sorted(name for name in CTFD_ONLY if environ.get(name))
    if meaningless:
        yield f"Set for CTFd, without a meaning here: {', '.join(meaningless)}"
    unknown = sorted(name for name in environ if name.startswith("CTFPLATFORM_") and name not in _OURS)
    if unknown:
        yield f"Unknown variables: {', '.join(unknown)}"


def _uploads(place: Path | Bucket) -> str:
    if isinstance(place, Path):
        return str(place)
    said = [f"at {place.endpoint_url}" if place.endpoint_url else "", f"region {place.region}" if place.region else ""]
    said.append(f"downloads from {place.custom_domain}" if place.custom_domain else "")
    said.append(f"{place.addressing_style} addresses" if place.addressing_style != "auto" else "")
    return ", ".join([f"s3://{place.name}/{place.prefix}", *(one for one in said if one)])


def _key(configuration: Configuration) -> str:
    if configuration.secret_key_file is None:
        return _MASK
    made = "" if configuration.settings.secret_key else ", made on the first start"
    return f"{configuration.secret_key_file}{made}"


def _preset_admin(settings: Settings) -> str:
    admin = settings.preset_admin
    if admin is None:
        return "none"
    token = f", token {_MASK}" if admin.token else ""
    return f"{admin.name} <{admin.email}>, password {_MASK}{token}"


def _mail(server: MailServer | None) -> tuple[str, str]:
    if server is None:
        return "none", "default"
    encryption = "TLS" if server.ssl else "STARTTLS" if server.tls else "not encrypted"
    user = f", user {server.username}, password {_MASK}" if server.username else ""
    return f"{server.host}:{server.port}, {encryption}{user}, from {server.from_address}", "environment"


def _oauth(server: OAuthServer) -> tuple[str, str]:
    if server == OAuthServer():
        return "as the competition says", "default"
    secret = f", secret {_MASK}" if server.client_secret else ""
    places = (server.authorization_endpoint, server.token_endpoint, server.api_endpoint)
    return ", ".join([f"client {server.client_id or 'not named'}{secret}", *(at for at in places if at)]), "environment"
