"""The options, once: the command line, the environment, the TOML file and its example all have these names."""

from typing import Final

from msgspec import Struct


class Option(Struct, frozen=True):
    """One option. ``environment`` is asked in its order; the first name that is set and not empty counts.

    ``separator`` is what divides a list within one text; ``repeats`` is true where the command line repeats the option.
    """

    name: str
    metavar: str
    help: str
    environment: tuple[str, ...] = ()
    separator: str = ""
    repeats: bool = False

    @property
    def key(self) -> str:
        """Its name in a TOML file."""
        return self.name.replace("-", "_")


#: The name by which an administrator is preset in CTFd's environment, with its fields.
PRESET_ADMIN: Final = {
    "PRESET_ADMIN_NAME": "name",
    "PRESET_ADMIN_EMAIL": "email",
    "PRESET_ADMIN_PASSWORD": "password",
    "PRESET_ADMIN_TOKEN": "token",
}
#: CTFd's names for its mail server: what stands behind the competition's own mail settings.
MAIL: Final = (
    "MAIL_SERVER",
    "MAIL_PORT",
    "MAIL_USERNAME",
    "MAIL_PASSWORD",
    "MAIL_TLS",
    "MAIL_SSL",
    "MAILFROM_ADDR",
)
#: CTFd's names for signing in with MajorLeagueCyber, with the fields of ``OAuthServer``.
OAUTH: Final = {
    "OAUTH_CLIENT_ID": "client_id",
    "OAUTH_CLIENT_SECRET": "client_secret",
    "OAUTH_AUTHORIZATION_ENDPOINT": "authorization_endpoint",
    "OAUTH_TOKEN_ENDPOINT": "token_endpoint",
    "OAUTH_API_ENDPOINT": "api_endpoint",
}

#: CTFd's names for a bucket of S3; the keys to it are for boto3 to find.
S3: Final = (
    "AWS_S3_BUCKET",
    "AWS_S3_CUSTOM_PREFIX",
    "AWS_S3_ENDPOINT_URL",
    "AWS_S3_REGION",
    "AWS_S3_CUSTOM_DOMAIN",
    "AWS_S3_ADDRESSING_STYLE",
)

CONFIG: Final = Option("config", "FILE", "a TOML file with these options by their names", ("CTFPLATFORM_CONFIG",))

OPTIONS: Final = (
    Option(
        "listen",
        "ENDPOINT",
        "where to listen, as Twisted describes endpoints: tcp:, ssl:, unix:, systemd: or onion:; may be repeated "
        "[default: tcp:8000:interface=127.0.0.1]",
        ("CTFPLATFORM_LISTEN",),
        separator=" ",
        repeats=True,
    ),
    Option(
        "database",
        "URL",
        "sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME [default: ctfplatform.sqlite in the data directory]",
        ("CTFPLATFORM_DATABASE", "DATABASE_URL"),
    ),
    Option(
        "data-dir",
        "DIR",
        "what the platform keeps in files [default: ./var]",
        ("CTFPLATFORM_DATA_DIR", "STATE_DIRECTORY"),
    ),
    Option(
        "uploads",
        "DIR|s3://BUCKET",
        "where uploaded files are kept: a directory, or a bucket with perhaps /PREFIX "
        "[default: uploads in the data directory]",
        ("CTFPLATFORM_UPLOADS", "UPLOAD_PROVIDER", "UPLOAD_FOLDER"),
    ),
    Option(
        "upload-limit",
        "MIB",
        "the largest upload, with all its files, in mebibytes [default: 1024]",
        ("CTFPLATFORM_UPLOAD_LIMIT",),
    ),
    Option(
        "public-url",
        "URL",
        "how people reach the platform: used in e-mails, webhooks and redirects [default: as requested]",
        ("CTFPLATFORM_PUBLIC_URL",),
    ),
    Option(
        "trusted-proxies",
        "CIDR,...",
        "whose X-Forwarded-For, -Proto and -Host are believed [default: none]",
        ("CTFPLATFORM_TRUSTED_PROXIES", "REVERSE_PROXY"),
        separator=",",
    ),
    Option(
        "roles",
        "LIST",
        "what this node does [default: web,koth,webhooks,mail]",
        ("CTFPLATFORM_ROLES",),
        separator=",",
    ),
    Option(
        "workers",
        "N",
        "so many processes answer HTTP, and share what is listened on [default: 1]",
        ("CTFPLATFORM_WORKERS",),
    ),
    Option(
        "metrics",
        "ENDPOINT",
        "where Prometheus may ask for figures, apart from what is listened on for players [default: none]",
        ("CTFPLATFORM_METRICS",),
    ),
    Option(
        "malformed-payload-status",
        "500|400",
        "the answer to a body that is no JSON object [default: 500]",
        ("CTFPLATFORM_MALFORMED_PAYLOAD_STATUS",),
    ),
    Option(
        "webhook-header-prefix",
        "TEXT",
        "the beginning of webhooks' header names [default: Service-Webhook]",
        ("CTFPLATFORM_WEBHOOK_HEADER_PREFIX",),
    ),
    Option(
        "application-root",
        "PATH",
        "the path under which everything is mounted [default: /]",
        ("CTFPLATFORM_APPLICATION_ROOT", "APPLICATION_ROOT"),
    ),
    Option(
        "trusted-hosts",
        "LIST",
        "host names that are answered, a leading dot for all below one [default: any]",
        ("CTFPLATFORM_TRUSTED_HOSTS", "TRUSTED_HOSTS"),
        separator=",",
    ),
    Option(
        "secret-key-file",
        "FILE",
        "the key that signs cookies and links, made if missing [default: secret_key in the data directory]",
        ("CTFPLATFORM_SECRET_KEY_FILE", "SECRET_KEY"),
    ),
    Option(
        "preset-admin-file",
        "FILE",
        "TOML with name, email, password and perhaps token of an administrator made at first use [default: none]",
        tuple(PRESET_ADMIN),
    ),
    Option(
        "password-rounds",
        "N",
        "bcrypt cost of new password hashes [default: 10]",
        ("CTFPLATFORM_PASSWORD_ROUNDS",),
    ),
    Option(
        "confirmation-button",
        "true|false",
        "whether a link that confirms an address leads to a button: some mail servers follow links [default: false]",
        ("CTFPLATFORM_CONFIRMATION_BUTTON", "EMAIL_CONFIRMATION_REQUIRE_INTERACTION"),
    ),
    Option(
        "server-sent-events",
        "true|false",
        "whether pages and programs may listen at /events [default: true]",
        ("CTFPLATFORM_SERVER_SENT_EVENTS", "SERVER_SENT_EVENTS"),
    ),
)
