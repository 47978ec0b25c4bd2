"""First-time setup, by the page or by ``ctfplatform setup`` (contract: pages.md section 3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec
from sqlalchemy import Connection, select

from ctfd_twisted.accounts.locks import serialise
from ctfd_twisted.accounts.newcomers import insert_user, tell_user_created
from ctfd_twisted.accounts.sessions import Entrance, open_session
from ctfd_twisted.accounts.signup import EMAIL_IS_NONE, account_problems, valid_email
from ctfd_twisted.competition.store import read_competition, write_config
from ctfd_twisted.content.tables import pages
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Invalid

ALREADY_SET_UP: Final = "The competition is already set up"

_VISIBILITIES: Final = {
    "challenge_visibility": ("public", "private", "admins"),
    "account_visibility": ("public", "private", "admins"),
    "score_visibility": ("public", "private", "hidden", "admins"),
    "registration_visibility": ("public", "private", "mlc"),
}
_MAIL_KEYS: Final = (
    "mail_server",
    "mail_port",
    "mail_tls",
    "mail_ssl",
    "mail_username",
    "mail_password",
    "mail_useauth",
)
# What a colour chooser or a person may write; it goes into a style sheet as it is.
_COLOR: Final = re.compile(r"#[0-9a-fA-F]{3,8}|[a-zA-Z]{1,30}|(?:rgb|hsl)a?\([0-9.,%/ ]{1,60}\)")
_INDEX: Final = """\
<div class="welcome">
{picture}\
  <h1>{ctf_name}</h1>
  <p>{ctf_description}</p>
  <p>The competition is ready. <a href="admin">Log in to its administration</a> to write challenges and this page.</p>
</div>
"""


#: The banner, or else the logo; its location needs no escaping. The heading below it says what it stands for.
_PICTURE: Final = '  <p><img src="files/{}" alt=""></p>\n'
_NO_PICTURES: Final[Mapping[str, str]] = {}


class SetupForm(msgspec.Struct, frozen=True, kw_only=True):
    """What the setup asks; texts as they were typed, the account's trimmed. ``None`` stores null."""

    ctf_name: str
    ctf_description: str = ""
    user_mode: str = "users"
    name: str
    email: str
    password: str
    challenge_visibility: str = "private"
    account_visibility: str = "public"
    score_visibility: str = "public"
    registration_visibility: str = "public"
    verify_emails: str | None = None
    social_shares: str | None = None
    team_size: str | None = None
    ctf_theme: str = "core"
    theme_color: str = ""
    start: str = ""
    end: str = ""


def setup_problems(conn: Connection, form: SetupForm) -> list[str]:
    """Return everything that is wrong with a setup, in the order in which the page lists it."""
    problems = [
        f"Please choose a valid {key.replace('_', ' ')}"
        for key, allowed in {**_VISIBILITIES, "user_mode": ("users", "teams")}.items()
        if getattr(form, key) not in allowed
    ]
    problems += [
        f"Please give the {key} as Unix time in seconds"
        for key in ("start", "end")
        if (text := getattr(form, key)) and not (text.isascii() and text.isdigit())
    ]
    if form.theme_color and not _COLOR.fullmatch(form.theme_color):
        problems.append("Please choose a valid theme color")
    if not valid_email(form.email):
        problems.append(EMAIL_IS_NONE)
    return problems + account_problems(conn, form.name, form.email, form.password)


def set_up_competition(
    conn: Connection,
    now: datetime,
    form: SetupForm,
    password_hash: str,
    entrance: Entrance | None = None,
    pictures: Mapping[str, str] = _NO_PICTURES,
) -> int:
    """Store the settings, the first page and the first administrator, and return the administrator's id.

    *pictures* are the locations of uploaded ones by their keys (``files.pictures.PICTURES``). The administrator is
    hidden and not verified, and signed in where there is an *entrance*. Raises ``Invalid`` with all problems in the
    general slot, and then nothing is stored.
    """
    serialise(conn, "users")
    competition = read_competition(conn)
    if competition.is_set_up:
        raise Invalid({"": [ALREADY_SET_UP]})
    problems = setup_problems(conn, form)
    if problems:
        raise Invalid({"": problems})
    values: dict[str, object] = {key: getattr(form, key) for key in _VISIBILITIES}
    values |= {
        "ctf_name": form.ctf_name,
        "ctf_description": form.ctf_description,
        "user_mode": form.user_mode,
        "ctf_theme": form.ctf_theme,
        "start": form.start,
        "end": form.end,
        "freeze": None,
        "verify_emails": form.verify_emails,
        "social_shares": form.social_shares,
        "team_size": form.team_size,
        **dict.fromkeys(_MAIL_KEYS),
        **pictures,
    }
    if form.theme_color and not competition.text("theme_header"):
        values["theme_header"] = _style(form.theme_color)
    write_config(conn, {**values, "setup": True})
    _add_index_page(conn, form.ctf_name, pictures.get("ctf_banner") or pictures.get("ctf_logo"))
    admin_id = insert_user(
        conn,
        now,
        name=form.name,
        email=form.email,
        password=password_hash,
        type="admin",
        hidden=True,
    )
    if entrance is not None:
        open_session(conn, now, admin_id, entrance)
    tell_user_created(conn, now, admin_id)
    return admin_id


def _style(color: str) -> str:
    bars = "background-color: var(--theme-color) !important;"
    return (
        '<style id="theme-color">\n'
        f":root {{--theme-color: {color};}}\n"
        f".navbar {{{bars}}}\n"
        f".jumbotron {{{bars}}}\n"
        "</style>\n"
    )


def _add_index_page(conn: Connection, title: str, picture: str | None) -> None:
    if conn.execute(select(pages.c.id).where(pages.c.route == "index")).first() is not None:
        return  # kept from before a reset of the accounts
    insert_row(
        conn,
        pages,
        {
            "title": title[:80],
            "route": "index",
            "content": _INDEX.replace("{picture}", "" if picture is None else _PICTURE.format(picture)),
            "draft": False,
            "hidden": False,
            "auth_required": False,
            "format": "html",
            "link_target": None,
        },
    )
    touch(conn, "pages")
