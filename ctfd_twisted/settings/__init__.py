"""What a deployment decides, as one frozen value; how it is found is in ``settings.reading``."""

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Literal

from msgspec import Struct

#: What a node may do beside the others: answer HTTP, ask hills, deliver webhooks, send mail.
ROLES = ("web", "koth", "webhooks", "mail")
#: Who mail comes from where nobody has said so, as in CTFd.
DEFAULT_SENDER = "noreply@examplectf.com"


class SettingsError(Exception):
    """A setting is wrong; the text is one line that names the option, the value and what is expected."""


class PresetAdmin(Struct, frozen=True):
    """An administrator who is made when they first sign in, or when the token is first shown."""

    name: str
    email: str
    password: str
    token: str | None = None

    def __repr__(self) -> str:
        return f"PresetAdmin(name={self.name!r}, email={self.email!r})"


class MailServer(Struct, frozen=True):
    """The deployment's SMTP server: used where the competition's own ``mail_server`` is not set, never mixed with it.

    ``ssl`` is TLS from the first byte, ``tls`` is STARTTLS. Without a user name nobody signs in.
    """

    host: str
    port: int
    from_address: str
    username: str | None = None
    password: str | None = None
    tls: bool = False
    ssl: bool = False

    def __repr__(self) -> str:
        return f"MailServer(host={self.host!r}, port={self.port!r})"


class OAuthServer(Struct, frozen=True):
    """What the deployment says of MajorLeagueCyber, or of a server in its place; None is left to the competition."""

    client_id: str | None = None
    client_secret: str | None = None
    authorization_endpoint: str | None = None
    token_endpoint: str | None = None
    api_endpoint: str | None = None

    def __repr__(self) -> str:
        return f"OAuthServer(client_id={self.client_id!r}, token_endpoint={self.token_endpoint!r})"


class Bucket(Struct, frozen=True):
    """The part of a bucket in which uploads are kept: keys begin with *prefix*, which is empty or ends with ``/``.

    Without an *endpoint_url* it is Amazon's. Downloads come from *custom_domain* where there is one. The keys to it
    are no setting: ``boto3`` looks for them.
    """

    name: str
    prefix: str = ""
    endpoint_url: str | None = None
    region: str | None = None
    custom_domain: str | None = None
    addressing_style: Literal["auto", "path", "virtual"] = "auto"


class Settings(Struct, frozen=True, kw_only=True):
    """Everything a deployment decides. Each value has been checked; every path is absolute.

    ``listen``: descriptions of server endpoints.
    ``metrics``: the description of the endpoint where Prometheus asks, or None.
    ``database``: a SQLAlchemy URL of an SQLite file, or of PostgreSQL through psycopg 3.
    ``public_url``: an origin such as ``https://ctf.example.org``, or None to take it from each request.
    ``upload_limit``: bytes of one upload.
    ``application_root``: empty, or a path such as ``/ctf`` without a slash at its end.
    ``trusted_hosts``: lower-case host names; one that begins with a dot stands for all names below it; none means any.
    ``mail``: None if the environment names no server. Values that nobody may see are left out of the ``repr``.
    """

    listen: tuple[str, ...]
    database: str
    data_dir: Path
    uploads: Path | Bucket
    upload_limit: int
    public_url: str | None
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...]
    roles: frozenset[str]
    malformed_payload_status: int
    webhook_header_prefix: str
    application_root: str
    trusted_hosts: tuple[str, ...]
    secret_key: bytes
    preset_admin: PresetAdmin | None
    password_rounds: int
    confirmation_button: bool
    server_sent_events: bool
    workers: int = 1
    metrics: str | None = None
    mail: MailServer | None
    oauth: OAuthServer = OAuthServer()

    def __repr__(self) -> str:
        return f"Settings(listen={self.listen!r}, data_dir={str(self.data_dir)!r}, roles={sorted(self.roles)!r})"
