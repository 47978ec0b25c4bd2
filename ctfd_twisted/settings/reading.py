"""From sources to :class:`~ctfd_twisted.settings.Settings`, with a note of where every value came from."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from sqlalchemy.engine import URL

from ctfd_twisted.settings import (
    DEFAULT_SENDER,
    ROLES,
    MailServer,
    OAuthServer,
    PresetAdmin,
    Settings,
    SettingsError,
    values,
)
from ctfd_twisted.settings.addresses import http_url
from ctfd_twisted.settings.buckets import find_uploads
from ctfd_twisted.settings.secret_key import ensure_secret_key, read_secret_key
from ctfd_twisted.settings.sources import Found, Given, Sources, parsed, read_toml, wrong
from ctfd_twisted.settings.table import MAIL, OAUTH, OPTIONS, PRESET_ADMIN


class Configuration(Struct, frozen=True):
    """Settings, and the origin of each option by its name: ``command line``, a variable, a file or ``default``.

    There is no ``secret_key_file`` where the environment holds the key itself.
    """

    settings: Settings
    origins: dict[str, str]
    secret_key_file: Path | None


def read_configuration(command_line: Given, environ: Mapping[str, str], *, create: bool) -> Configuration:
    """Everything a deployment decides, checked.

    With *create*, the data directory and the secret key are made where they are missing; without, nothing is
    written and a key that does not exist yet is empty. Raises :class:`SettingsError`, before anything is made.
    """
    sources = Sources(command_line, environ)
    data_dir = _data_dir(sources)
    key_file = _key_file(sources, data_dir)
    settings = Settings(
        listen=sources.some("listen", ("tcp:8000:interface=127.0.0.1",), values.endpoint, least=1),
        database=sources.one("database", _sqlite_in(data_dir), values.database_url),
        data_dir=data_dir,
        uploads=find_uploads(sources, data_dir / "uploads"),
        upload_limit=sources.one("upload-limit", 1024 * values.MEBIBYTE, values.mebibytes),
        public_url=sources.one("public-url", None, values.origin),
        trusted_proxies=_trusted_proxies(sources),
        roles=frozenset(sources.some("roles", ROLES, values.role, least=1)),
        malformed_payload_status=sources.one("malformed-payload-status", 500, values.payload_status),
        webhook_header_prefix=sources.one("webhook-header-prefix", "Service-Webhook", values.header_prefix),
        application_root=sources.one("application-root", "", values.root_path),
        trusted_hosts=sources.some("trusted-hosts", (), values.host_name),
        preset_admin=_preset_admin(sources),
        password_rounds=sources.one("password-rounds", 10, values.password_rounds),
        confirmation_button=sources.one("confirmation-button", False, values.boolean),
        server_sent_events=sources.one("server-sent-events", True, values.boolean),
        workers=sources.one("workers", 1, values.workers),
        metrics=sources.one("metrics", None, values.endpoint),
        mail=_mail_server(sources),
        oauth=_oauth_server(sources),
        secret_key=b"",  # read, or made, when everything else has been found right
    )
    origins = {option.name: sources.origin(option.name) for option in OPTIONS}
    if create:
        _make_folder(data_dir, origins["data-dir"])
    if key_file is None:
        key = environ["SECRET_KEY"].encode()
    else:
        key = _read_key(key_file, origins["secret-key-file"], create=create)
    return Configuration(msgspec.structs.replace(settings, secret_key=key), origins, key_file)


def _data_dir(sources: Sources) -> Path:
    found = sources.find("data-dir")
    if found is not None and found.origin == "STATE_DIRECTORY":
        # systemd lists several state directories with colons between them; the first is the platform's.
        return values.path(found.text.split(":")[0])
    return sources.one("data-dir", values.path("var"), values.path)


def _make_folder(folder: Path, origin: str) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        expected = f"a directory that can be made ({error.strerror})"
        raise wrong("data-dir", Found(str(folder), origin), expected) from None


def _sqlite_in(folder: Path) -> str:
    return URL.create("sqlite", database=str(folder / "ctfplatform.sqlite")).render_as_string()


def _key_file(sources: Sources, data_dir: Path) -> Path | None:
    found = sources.find("secret-key-file")
    if found is None:
        return data_dir / "secret_key"
    return None if found.origin == "SECRET_KEY" else values.path(found.text)


def _read_key(file: Path, origin: str, *, create: bool) -> bytes:
    found = Found(str(file), origin)
    try:
        if create:
            return ensure_secret_key(file)
        return read_secret_key(file) if file.exists() else b""
    except OSError as error:
        expected = f"a file that can be read or made ({error.strerror})"
        raise wrong("secret-key-file", found, expected) from None
    except ValueError as error:
        raise wrong("secret-key-file", found, error) from None


def _trusted_proxies(sources: Sources) -> tuple[values.Network, ...]:
    found = sources.find("trusted-proxies")
    if found is not None and found.origin == "REVERSE_PROXY":
        return parsed("trusted-proxies", found, values.reverse_proxy, found.text)
    return sources.some("trusted-proxies", (), values.network)


def _preset_admin(sources: Sources) -> PresetAdmin | None:
    found = sources.find("preset-admin-file")
    if found is None:
        return None
    if found.origin in PRESET_ADMIN:
        fields = {field: sources.variable(name) for name, field in PRESET_ADMIN.items()}
        given: dict[str, object] = {field: text for field, text in fields.items() if text is not None}
        missing = [name for name, field in PRESET_ADMIN.items() if field not in given and field != "token"]
        if missing:
            raise SettingsError(
                f"PRESET_ADMIN_*: expected name, email and password together; {', '.join(missing)} is not set"
            )
    else:
        given = read_toml("preset-admin-file", found)
    try:
        return msgspec.convert(given, PresetAdmin)
    except msgspec.ValidationError as error:
        raise wrong("preset-admin-file", found, f"a TOML file with name, email and password ({error})") from None


def _mail_server(sources: Sources) -> MailServer | None:
    """The mail server of CTFd's variables; without a port, the one that belongs to the kind of encryption."""
    host, port, username, password, tls, ssl, sender = (sources.variable(name) for name in MAIL)
    if host is None:
        return None
    try:
        encrypted, starts_plain = values.boolean(ssl or "false"), values.boolean(tls or "false")
    except ValueError as error:
        raise SettingsError(f"MAIL_TLS and MAIL_SSL: expected {error}; found {tls!r} and {ssl!r}") from None
    try:
        number = values.port(port or ("465" if encrypted else "587" if starts_plain else "25"))
    except ValueError as error:
        raise SettingsError(f"MAIL_PORT: expected {error}; found {port!r}") from None
    return MailServer(host, number, sender or DEFAULT_SENDER, username, password, tls=starts_plain, ssl=encrypted)


def _oauth_server(sources: Sources) -> OAuthServer:
    found = {field: sources.variable(name) for name, field in OAUTH.items()}
    for name, field in OAUTH.items():
        text = found[field]
        if text is not None and field.endswith("_endpoint"):
            try:
                http_url(text)
            except ValueError as error:
                raise SettingsError(f"{name}: expected {error}; found {values.masked_url(text)!r}") from None
    return OAuthServer(**found)
