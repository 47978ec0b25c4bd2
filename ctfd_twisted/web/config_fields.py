"""What the page of the competition's settings asks, section by section. Pure."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from ctfd_twisted.web.languages import LANGUAGE_NAMES

Kind = Literal["text", "number", "lines", "moment", "switch", "choice", "secret", "picture"]


class Setting(msgspec.Struct, frozen=True):
    """One setting: its key, how it is called and asked for, and what counts while nothing is stored.

    A ``secret`` is never shown; ``lines`` are a text of several; a ``moment`` is stored in Unix seconds.
    """

    key: str
    label: str
    kind: Kind = "text"
    hint: str = ""
    default: str = ""
    options: tuple[tuple[str, str], ...] = ()


class Section(msgspec.Struct, frozen=True):
    """Settings that are saved together; *name* is that of their form."""

    name: str
    title: str
    settings: tuple[Setting, ...]
    note: str = ""


_SEEN: Final = (("public", "Everybody"), ("private", "Who is logged in"), ("admins", "Administrators only"))
_SCORES: Final = (*_SEEN[:2], ("hidden", "Nobody, for now"), _SEEN[2])
_JOIN: Final = (("public", "Open to everybody"), ("private", "Closed"), ("mlc", "By MajorLeagueCyber only"))
_HTML: Final = "HTML, for every public page."
_MARKDOWN: Final = "Markdown."
#: The letters that have texts: the beginning of their keys, and what they are.
_LETTERS: Final = (
    ("verification_email", "Confirm an address"),
    ("successful_registration_email", "After registering"),
    ("user_creation_email", "An account was made for somebody"),
    ("password_reset", "A new password was asked for"),
    ("password_change_alert", "A password was changed"),
)


def _switch(key: str, label: str, hint: str = "", *, on: bool = False) -> Setting:
    return Setting(key, label, "switch", hint, default="true" if on else "")


def _number(key: str, label: str, hint: str = "", default: str = "") -> Setting:
    return Setting(key, label, "number", hint, default)


SECTIONS: Final = (
    Section(
        "general",
        "General",
        (Setting("ctf_name", "Name", default="CTFd"), Setting("ctf_description", "Description", "lines")),
    ),
    Section(
        "look",
        "Look",
        (
            Setting("ctf_logo", "Logo", "picture", "Stands in the bar at the top in place of the name."),
            Setting("ctf_banner", "Banner", "picture", "A wide picture; the setup puts it on the start page."),
            Setting("ctf_small_icon", "Small icon", "picture", "What browsers show in their tabs."),
            Setting("theme_header", "Code in the head", "lines", _HTML),
            Setting("theme_footer", "Code at the end", "lines", _HTML),
            Setting("theme_settings", "Settings of the theme", "lines", "JSON."),
            Setting("default_locale", "Language", "choice", options=(("", "As browsers ask"), *LANGUAGE_NAMES.items())),
        ),
    ),
    Section(
        "visibility",
        "Who sees what",
        (
            Setting("challenge_visibility", "Challenges", "choice", default="private", options=_SEEN),
            Setting("account_visibility", "Accounts", "choice", default="public", options=_SEEN),
            Setting("score_visibility", "Scores", "choice", default="public", options=_SCORES),
            Setting("registration_visibility", "Registration", "choice", default="public", options=_JOIN),
        ),
    ),
    Section(
        "time",
        "Date and time",
        (
            Setting("start", "Start", "moment"),
            Setting("end", "End", "moment"),
            Setting("freeze", "Freeze", "moment"),
            _switch("view_after_ctf", "Challenges can be seen after the end"),
            _switch("paused", "Paused", "Nothing is accepted until the competition goes on."),
        ),
    ),
    Section(
        "accounts",
        "Accounts and teams",
        (
            _switch("verify_emails", "Players have to confirm their email addresses"),
            Setting("registration_code", "Registration code", hint="Whoever registers has to know it."),
            Setting("domain_whitelist", "Domains of email that may register", hint="With commas between them."),
            Setting("domain_blacklist", "Domains of email that may not", hint="With commas between them."),
            _number("password_min_length", "Shortest password"),
            _number("num_users", "Most users"),
            _number("num_teams", "Most teams"),
            _number("team_size", "Largest team"),
            _switch("team_creation", "Players may make teams", on=True),
            Setting(
                "team_disbanding",
                "Captains may disband their teams",
                "choice",
                default="inactive_only",
                options=(("inactive_only", "While they have done nothing"), ("disabled", "Never")),
            ),
            _switch("name_changes", "Players may change their names", on=True),
        ),
    ),
    Section(
        "challenges",
        "Challenges",
        (
            _number("incorrect_submissions_per_min", "Wrong answers in a minute", default="10"),
            Setting(
                "max_attempts_behavior",
                "When all attempts are used",
                "choice",
                default="lockout",
                options=(("lockout", "Nothing more is accepted"), ("timeout", "Players wait")),
            ),
            _number("max_attempts_timeout", "Seconds to wait then", default="300"),
            Setting(
                "challenge_ratings",
                "Ratings",
                "choice",
                default="public",
                options=(
                    ("public", "Everybody sees them"),
                    ("private", "Players rate, administrators see them"),
                    ("disabled", "None"),
                ),
            ),
            _switch("view_self_submissions", "Players see what they have answered"),
            _switch("hints_free_public_access", "Visitors may read hints that cost nothing"),
            _switch("social_shares", "Players may share links to their solves", on=True),
            Setting("social_share_solve_template", "What such a link says", "lines", "HTML with placeholders."),
            _switch("html_sanitization", "Take what could run out of HTML that administrators write"),
        ),
    ),
    Section(
        "legal",
        "Legal",
        (
            Setting("tos_url", "Terms: address"),
            Setting("tos_text", "Terms: text", "lines", _MARKDOWN),
            Setting("privacy_url", "Privacy: address"),
            Setting("privacy_text", "Privacy: text", "lines", _MARKDOWN),
            Setting("robots_txt", "robots.txt", "lines"),
        ),
    ),
    Section(
        "email",
        "Email",
        (
            Setting("mail_server", "Server"),
            _number("mail_port", "Port"),
            _switch("mail_useauth", "The server wants a user name and a password"),
            Setting("mail_username", "User name"),
            Setting("mail_password", "Password", "secret", "Stays as it is while this is empty."),
            _switch("mail_tls", "STARTTLS"),
            _switch("mail_ssl", "TLS from the start"),
            Setting("mailfrom_addr", "Sender"),
            Setting("mailgun_base_url", "Mailgun: address"),
            Setting("mailgun_api_key", "Mailgun: key", "secret", "Stays as it is while this is empty."),
        ),
        note="Once a server stands here, nothing of the deployment's own mail settings is used.",
    ),
    Section(
        "letters",
        "Letters",
        tuple(
            setting
            for key, label in _LETTERS
            for setting in (
                Setting(f"{key}_subject", f"{label}: subject"),
                Setting(
                    f"{key}_body", f"{label}: text", "lines", "{ctf_name}, {ctf_description} and {url} are filled in."
                ),
            )
        ),
        note="What is empty is written by the platform.",
    ),
    Section(
        "mlc",
        "MajorLeagueCyber",
        (
            Setting("oauth_client_id", "Client ID"),
            Setting("oauth_client_secret", "Client secret", "secret", "Stays as it is while this is empty."),
        ),
    ),
)
