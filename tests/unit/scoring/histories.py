"""Random histories of an event, for properties that hold after any of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st
from sqlalchemy import Connection, delete, select, update

from ctfd_twisted.accounts.brackets import BracketFields, create_bracket, delete_bracket, update_bracket
from ctfd_twisted.accounts.deletion import delete_team, delete_user
from ctfd_twisted.accounts.editing import TEAM, USER, account_to_change, store_change
from ctfd_twisted.accounts.membership import add_member, remove_member
from ctfd_twisted.accounts.newcomers import insert_team, insert_user
from ctfd_twisted.accounts.tables import brackets, teams, users
from ctfd_twisted.challenges.modules_store import ModuleFields, create_module, delete_module, move_challenge
from ctfd_twisted.challenges.ratings_store import NewRating, rate
from ctfd_twisted.challenges.recording import NewAttempt
from ctfd_twisted.challenges.store import update_challenge
from ctfd_twisted.challenges.tables import dynamic_challenge, modules
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.errors import Forbidden, Invalid, Malformed, NotFound
from ctfd_twisted.koth.recording import give_award
from ctfd_twisted.scoring.awards_store import AwardFields, create_award, delete_award
from ctfd_twisted.scoring.news import tell_points
from ctfd_twisted.scoring.submissions_store import (
    SubmissionFields,
    create_submission,
    delete_submission,
    regrade_submission,
)
from ctfd_twisted.scoring.tables import awards, submissions
from ctfd_twisted.scoring.values import present_kind, recompute_values
from ctfd_twisted.testing.answers import attempt
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_solve, a_team, a_user

NOW = datetime(2026, 3, 14, tzinfo=UTC)


class Event:
    """Five players, each in a team of their own, three challenges, and the time, which goes on with every change."""

    def __init__(self, conn: Connection, mode: str) -> None:
        write_config(conn, {"user_mode": mode})
        self.now = NOW
        self.players = [a_user(conn, team_id=a_team(conn)) for _ in range(5)]
        self.numbers = [
            a_challenge(conn, dynamic={"initial": 100, "minimum": 10, "decay": 3}),
            a_challenge(conn, function="linear", initial=90, minimum=20, decay=17),
            a_challenge(conn),
        ]
        for number in self.numbers:
            a_flag(conn, number)
        #: The ids of those who were deleted, each in the place they had, for who comes after them.
        self.gone: dict[int, int] = {}
        recompute_values(conn)

    def change(self, conn: Connection, change: Change) -> None:
        """Let *change* happen, a minute after the one before."""
        self.now += timedelta(minutes=1)
        change(conn, self)


Change = Callable[[Connection, Event], None]

WHO = st.integers(0, 4)
WHICH = st.integers(0, 2)


def _solve(who: int, which: int, late: int = 0) -> Change:
    """*late* is by how many minutes it is stored after it was sent."""

    def change(conn: Connection, event: Event) -> None:
        with suppress(Forbidden, NotFound):  # the banned and the deleted; a challenge that is closed
            attempt(
                conn,
                NewAttempt(
                    event.now - timedelta(minutes=late),
                    event.players[who],
                    is_admin=False,
                    challenge_id=event.numbers[which],
                    submission="flag{right}",
                    address="::1",
                ),
            )

    return change


def _mark(who: int, column: str, value: bool) -> Change:  # noqa: FBT001 - built by Hypothesis
    def change(conn: Connection, event: Event) -> None:
        table = teams if present_kind(conn).table is teams else users
        team = select(users.c.team_id).where(users.c.id == event.players[who]).scalar_subquery()
        wanted = table.c.id == (team if table is teams else event.players[who])
        conn.execute(update(table).where(wanted).values({column: value}))
        recompute_values(conn)

    return change


def _show_or_hide(who: int, hidden: bool) -> Change:  # noqa: FBT001 - built by Hypothesis
    """As an administrator does it."""

    def change(conn: Connection, event: Event) -> None:
        with suppress(NotFound):  # the deleted
            store_change(conn, USER, account_to_change(conn, USER, event.players[who]), {"hidden": hidden}, ())

    return change


def _move(who: int, where: int) -> Change:
    """Take somebody out of their team, with what they did, and put them into another's."""

    def change(conn: Connection, event: Event) -> None:
        theirs = select(users.c.team_id)
        before = conn.scalar(theirs.where(users.c.id == event.players[who]))
        after = conn.scalar(theirs.where(users.c.id == event.players[where]))
        if before is not None and after is not None:
            remove_member(conn, before, event.players[who])
            add_member(conn, after, event.players[who])

    return change


def _join(where: int, *, solved: bool) -> Change:
    """Somebody new comes, and goes into a team where there are teams; perhaps after they solved something alone."""

    def change(conn: Connection, event: Event) -> None:
        user = insert_user(conn, event.now, name=f"newcomer {event.now}", email=f"{event.now}@example.org")
        if solved:
            a_solve(conn, event.numbers[2], user, date=event.now)
            recompute_values(conn)
        team = conn.scalar(select(users.c.team_id).where(users.c.id == event.players[where]))
        if team is not None:
            add_member(conn, team, user)

    return change


def _hold(who: int, late: int) -> Change:
    """A hill pays a team that none of its members is named for, or in a competition of users its king."""

    def change(conn: Connection, event: Event) -> None:
        row = conn.execute(select(users.c.id, users.c.team_id).where(users.c.id == event.players[who])).first()
        if row is not None:
            user, team = (None, row.team_id) if present_kind(conn).table is teams else (row.id, None)
            due = event.now - timedelta(minutes=late)
            give_award(conn, "hill", "koth", {"user_id": user, "team_id": team, "tick": 1, "due": due, "points": 3})
            tell_points(conn, user, team)

    return change


def _change_elsewhere(value: int) -> Change:
    """Another program writes, or an archive is read: nobody knows what it was."""

    def change(conn: Connection, event: Event) -> None:
        del event
        conn.execute(update(awards).values(value=value))
        touch(conn, EVERYTHING)

    return change


def _delete_solves(who: int) -> Change:
    def change(conn: Connection, event: Event) -> None:
        conn.execute(delete(submissions).where(submissions.c.user_id == event.players[who]))
        recompute_values(conn)

    return change


def _add_by_hand(who: int, which: int) -> Change:
    def change(conn: Connection, event: Event) -> None:
        team = conn.execute(select(users.c.team_id).where(users.c.id == event.players[who])).scalar()
        fields = SubmissionFields(event.numbers[which], event.players[who], team, type="correct")
        with suppress(Malformed):  # the deleted, and who has solved it already
            create_submission(conn, event.now, fields)

    return change


def _grade_anew(which: int, type: str | None) -> Change:
    def change(conn: Connection, event: Event) -> None:
        ids = conn.execute(select(submissions.c.id).order_by(submissions.c.id)).scalars().all()
        if ids and type is None:
            delete_submission(conn, ids[which % len(ids)])
        elif ids:
            with suppress(Invalid):  # solved already
                regrade_submission(conn, event.now, ids[which % len(ids)], type)

    return change


def _delete_user(who: int) -> Change:
    def change(conn: Connection, event: Event) -> None:
        conn.execute(delete(users).where(users.c.id == event.players[who]))
        event.players[who] = 0
        recompute_values(conn)

    return change


def _edit(decay: int) -> Change:
    def change(conn: Connection, event: Event) -> None:
        conn.execute(update(dynamic_challenge).values(dynamic_decay=decay))
        recompute_values(conn, event.numbers)

    return change


def _give(who: int, value: int) -> Change:
    def change(conn: Connection, event: Event) -> None:
        fields = AwardFields(user_id=event.players[who], value=value, name="award", category="")
        with suppress(NotFound, Malformed, Invalid):  # the deleted, and who has no team
            create_award(conn, event.now, fields)

    return change


def _rate(who: int, which: int, value: int) -> Change:
    def change(conn: Connection, event: Event) -> None:
        if event.players[who]:  # not deleted
            rate(conn, event.now, event.players[who], event.numbers[which], NewRating(value, ""))

    return change


def _take_back(which: int) -> Change:
    def change(conn: Connection, event: Event) -> None:
        del event
        ids = conn.execute(select(awards.c.id).order_by(awards.c.id)).scalars().all()
        if ids:
            delete_award(conn, ids[which % len(ids)])

    return change


def _set_value(value: int) -> Change:
    def change(conn: Connection, event: Event) -> None:
        update_challenge(conn, event.now, event.numbers[2], {"value": value})

    return change


def _freeze(minutes: int | None) -> Change:
    def change(conn: Connection, event: Event) -> None:
        moment = None if minutes is None else int((event.now + timedelta(minutes=minutes)).timestamp())
        write_config(conn, {"freeze": moment})

    return change


def _leave(who: int) -> Change:
    """Delete somebody as administrators do."""

    def change(conn: Connection, event: Event) -> None:
        if event.players[who]:
            delete_user(conn, 0, event.players[who])
            event.gone[who], event.players[who] = event.players[who], 0

    return change


def _come_after(who: int, where: int) -> Change:
    """Somebody new gets the id of who was deleted, as on SQLite, and goes into a team where one is left."""

    def change(conn: Connection, event: Event) -> None:
        if who not in event.gone:
            return
        user = event.players[who] = event.gone.pop(who)
        if conn.scalar(select(users.c.id).where(users.c.id == user)) is not None:
            return  # SQLite has given it to a newcomer
        insert_user(conn, event.now, id=user, name=f"next {event.now}", email=f"{event.now}@example.org")
        team = conn.scalar(select(users.c.team_id).where(users.c.id == event.players[where]))
        if team is not None:
            add_member(conn, team, user)

    return change


def _found_anew(who: int, *, again: bool) -> Change:
    """Delete somebody's team; perhaps they found another at once, which gets its id."""

    def change(conn: Connection, event: Event) -> None:
        team = conn.scalar(select(users.c.team_id).where(users.c.id == event.players[who]))
        if team is not None:
            delete_team(conn, team)
            if again:
                insert_team(conn, event.now, id=team, name=f"anew {event.now}")
                add_member(conn, team, event.players[who])

    return change


def _rename(who: int, name: str) -> Change:
    def change(conn: Connection, event: Event) -> None:
        for kind in (USER, TEAM):
            account = select(users.c.id if kind is USER else users.c.team_id).where(users.c.id == event.players[who])
            number = conn.scalar(account)
            if number is not None:
                store_change(conn, kind, account_to_change(conn, kind, number), {"name": name}, ())

    return change


def _change_brackets(who: int, which: int, *, deleted: bool) -> Change:
    """Make a bracket, rename it, put somebody and their team into it, or delete it."""

    def change(conn: Connection, event: Event) -> None:
        known = conn.scalars(select(brackets.c.id).order_by(brackets.c.id)).all()
        if not known:
            create_bracket(conn, BracketFields(name="first", type="users"))
        elif deleted:
            delete_bracket(conn, known[0])
        elif which == 0:
            update_bracket(conn, known[0], BracketFields(name=f"later {event.now}"))
        else:
            for kind, column in ((USER, users.c.id), (TEAM, users.c.team_id)):
                number = conn.scalar(select(column).where(users.c.id == event.players[who]))
                if number is not None:
                    store_change(conn, kind, account_to_change(conn, kind, number), {"bracket_id": known[0]}, ())

    return change


def _switch_mode(mode: str) -> Change:
    def change(conn: Connection, event: Event) -> None:
        del event
        write_config(conn, {"user_mode": mode})
        recompute_values(conn)

    return change


def _close(which: int, *, closed: bool) -> Change:
    """Put a challenge into a module that is opened to nobody, or delete all modules."""

    def change(conn: Connection, event: Event) -> None:
        if closed:
            move_challenge(conn, create_module(conn, ModuleFields("closed")).id, event.numbers[which])
        else:
            for module in conn.scalars(select(modules.c.id)).all():
                delete_module(conn, module)

    return change


CHANGES = st.lists(
    st.one_of(
        st.builds(_solve, WHO, WHICH),
        st.builds(_solve, WHO, WHICH),
        st.builds(_solve, WHO, WHICH, st.integers(1, 5)),
        st.builds(_show_or_hide, WHO, st.booleans()),
        st.builds(_move, WHO, WHO),
        st.builds(_join, WHO, solved=st.booleans()),
        st.builds(_hold, WHO, st.integers(0, 5)),
        st.builds(_change_elsewhere, st.sampled_from([-5, 0, 8])),
        st.builds(_mark, WHO, st.sampled_from(["hidden", "banned"]), st.booleans()),
        st.builds(_delete_solves, WHO),
        st.builds(_add_by_hand, WHO, WHICH),
        st.builds(_grade_anew, st.integers(0, 9), st.sampled_from(["correct", "incorrect", None])),
        st.builds(_delete_user, WHO),
        st.builds(_edit, st.integers(0, 5)),
        st.builds(_give, WHO, st.sampled_from([-30, 0, 40])),
        st.builds(_rate, WHO, WHICH, st.sampled_from([-1, 1])),
        st.builds(_take_back, st.integers(0, 9)),
        st.builds(_set_value, st.sampled_from([0, 100, 250])),
        st.builds(_freeze, st.sampled_from([None, -2, 0, 3])),
        st.builds(_leave, WHO),
        st.builds(_come_after, WHO, WHO),
        st.builds(_found_anew, WHO, again=st.booleans()),
        st.builds(
            _rename,
            WHO,
            st.sampled_from(["Ann", "%d 100%", '"\\']),
        ),
        st.builds(_change_brackets, WHO, WHICH, deleted=st.sampled_from([False, False, True])),
        st.builds(_switch_mode, st.sampled_from(["users", "teams"])),
        st.builds(_close, WHICH, closed=st.booleans()),
    ),
    max_size=25,
)
