"""What hangs on one challenge, as administrators list it; an unknown challenge has an empty list of everything."""

from __future__ import annotations

from typing import Any, TypedDict

from sqlalchemy import Connection, Row, select

from ctfd_twisted.challenges.tables import challenge_topics, files, flags, hints, tags, topics


class FlagShown(TypedDict):
    """A flag; ``challenge`` is another name of ``challenge_id``."""

    id: int
    challenge_id: int | None
    challenge: int | None
    type: str | None
    content: str | None
    data: str | None


class TagOfChallenge(TypedDict):
    """A tag of one challenge."""

    id: int
    challenge_id: int | None
    value: str | None


class FileOfChallenge(TypedDict):
    """A file of one challenge; ``location`` is its path below ``/files``."""

    id: int
    type: str | None
    location: str | None
    sha1sum: str | None


class HintOfChallenge(TypedDict):
    """A hint of one challenge, with its text; ``challenge`` is another name of ``challenge_id``."""

    id: int
    title: str | None
    type: str | None
    challenge_id: int | None
    challenge: int | None
    content: str | None
    cost: int | None
    requirements: dict[str, Any] | None


class TopicOfChallenge(TypedDict):
    """A topic of one challenge; ``id`` is that of the link between both."""

    id: int
    challenge_id: int | None
    topic_id: int | None
    value: str | None


def list_flags(conn: Connection, challenge_id: int) -> list[FlagShown]:
    """The flags of a challenge."""
    return [flag_readout(row) for row in conn.execute(_of(flags, challenge_id))]


def list_tags(conn: Connection, challenge_id: int) -> list[TagOfChallenge]:
    """The tags of a challenge."""
    rows = conn.execute(_of(tags, challenge_id))
    return [{"id": row.id, "challenge_id": row.challenge_id, "value": row.value} for row in rows]


def list_files(conn: Connection, challenge_id: int) -> list[FileOfChallenge]:
    """The files of a challenge, not those of its solution."""
    rows = conn.execute(_of(files, challenge_id))
    return [{"id": row.id, "type": row.type, "location": row.location, "sha1sum": row.sha1sum} for row in rows]


def list_hints(conn: Connection, challenge_id: int) -> list[HintOfChallenge]:
    """The hints of a challenge."""
    return [
        {
            "id": row.id,
            "title": row.title,
            "type": row.type,
            "challenge_id": row.challenge_id,
            "challenge": row.challenge_id,
            "content": row.content,
            "cost": row.cost,
            "requirements": row.requirements,
        }
        for row in conn.execute(_of(hints, challenge_id))
    ]


def list_topics(conn: Connection, challenge_id: int) -> list[TopicOfChallenge]:
    """The topics of a challenge."""
    links = (
        select(challenge_topics, topics.c.value)
        .join(topics, topics.c.id == challenge_topics.c.topic_id)
        .where(challenge_topics.c.challenge_id == challenge_id)
        .order_by(challenge_topics.c.id)
    )
    return [
        {"id": row.id, "challenge_id": row.challenge_id, "topic_id": row.topic_id, "value": row.value}
        for row in conn.execute(links)
    ]


def flag_readout(row: Row[Any]) -> FlagShown:
    """One flag as every endpoint shows it."""
    return {
        "id": row.id,
        "challenge_id": row.challenge_id,
        "challenge": row.challenge_id,
        "type": row.type,
        "content": row.content,
        "data": row.data,
    }


def _of(table: Any, challenge_id: int) -> Any:
    return select(table).where(table.c.challenge_id == challenge_id).order_by(table.c.id)
