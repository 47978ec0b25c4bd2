"""Topics, which challenges share, and the links between both, as administrators make, find and remove them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Connection, Row, delete, select
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.challenges.part_store import PartFields, add_part, read_part, remove_part
from ctfd_twisted.challenges.tables import challenge_topics, topics
from ctfd_twisted.db.columns import matching
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.http.bodies import REQUIRED


class LinkFields(PartFields, frozen=True):
    """What POST takes: a challenge, and a topic by its value or by its id. An empty value is none."""

    value: Annotated[str, Meta(max_length=255)] | UnsetType | None = UNSET
    topic_id: int | UnsetType | None = UNSET


class TopicFilter(msgspec.Struct, frozen=True):
    """Which topics are asked for."""

    value: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["value"] | UnsetType = UNSET


class TopicShown(TypedDict):
    """A topic."""

    id: int
    value: str | None


class TopicLinked(TypedDict):
    """That a challenge is about a topic; ``challenge`` and ``topic`` are other names of the ids."""

    id: int
    challenge_id: int
    challenge: int
    topic_id: int
    topic: int


def list_topics(conn: Connection, wanted: TopicFilter) -> list[TopicShown]:
    """All topics that *wanted* describes, by id."""
    return [_readout(row) for row in conn.execute(matching(select(topics), topics, wanted).order_by(topics.c.id))]


def read_topic(conn: Connection, topic_id: int) -> TopicShown:
    """One topic. Raises ``NotFound``."""
    return _readout(read_part(conn, topics, topic_id))


def link_topic(conn: Connection, fields: LinkFields) -> TopicLinked:
    """Link a challenge to a topic, which is made where a value names none, and return the link.

    Raises ``NotFound`` for an unknown topic id, ``Invalid`` without a challenge, ``Malformed`` for an unknown one.
    """
    challenge_id = fields.columns().get("challenge_id")
    if challenge_id is None:
        raise Invalid(challenge_id=[REQUIRED])
    if fields.value:
        topic_id = _topic_called(conn, fields.value)
    elif isinstance(fields.topic_id, int):
        topic_id = read_part(conn, topics, fields.topic_id).id
    else:
        raise NotFound
    link = add_part(conn, challenge_topics, {"challenge_id": challenge_id, "topic_id": topic_id})
    return {
        "id": link.id,
        "challenge_id": challenge_id,
        "challenge": challenge_id,
        "topic_id": topic_id,
        "topic": topic_id,
    }


def unlink_topic(conn: Connection, link_id: int) -> None:
    """Remove a link; the topic stays. Raises ``NotFound``."""
    remove_part(conn, challenge_topics, link_id)


def delete_topic(conn: Connection, topic_id: int) -> None:
    """Remove a topic with its links. Raises ``NotFound``."""
    # Databases that CTFd began long ago lack the cascade.
    conn.execute(delete(challenge_topics).where(challenge_topics.c.topic_id == topic_id))
    remove_part(conn, topics, topic_id)


def _readout(row: Row[Any]) -> TopicShown:
    return {"id": row.id, "value": row.value}


def _topic_called(conn: Connection, value: str) -> int:
    """The id of the topic *value*; of several transactions that make it at once one does, and the others find it."""
    called = select(topics.c.id).where(topics.c.value == value)
    found: int | None = conn.execute(called).scalar()
    if found is not None:
        return found
    try:
        with conn.begin_nested():
            return insert_row(conn, topics, {"value": value})
    except IntegrityError:
        made_meanwhile: int = conn.execute(called).scalar_one()
        return made_meanwhile
