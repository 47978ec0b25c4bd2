"""Hints, tags and topics, on SQLite and on PostgreSQL, also made by several nodes at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Connection

from ctfd_twisted.accounts.brackets import BracketFields, BracketFilter, create_bracket, delete_bracket, list_brackets
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges import hints_store, parts, tags_store, topics_store
from ctfd_twisted.challenges.tables import solutions
from ctfd_twisted.challenges.unlocking import NewUnlock, unlock_hint, unlock_solution
from ctfd_twisted.challenges.unlocks_api import UnlockFilter, list_unlocks
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Malformed, NotFound
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.builders import a_challenge, a_user

AT_ONCE = 8


def test_hints_and_unlocks(any_conn: Connection, now: datetime) -> None:
    conn, number, user = any_conn, a_challenge(any_conn), a_user(any_conn)
    first = hints_store.create_hint(conn, hints_store.HintFields(challenge_id=number, content="one", cost=0))
    second = hints_store.create_hint(
        conn, hints_store.HintFields(challenge=number, requirements={"prerequisites": [first.id, 99]})
    )
    assert hints_store.ask_for_hint(conn, second.id).needed == {first.id}
    assert hints_store.update_hint(conn, first.id, hints_store.HintFields(title="t")).title == "t"
    assert hints_store.list_hints(conn, hints_store.HintFilter(q="on", field="content"))[0].id == first.id
    with pytest.raises(Malformed):
        hints_store.update_hint(conn, first.id, hints_store.HintFields(challenge_id=number + 1))
    solution = insert_row(conn, solutions, {"challenge_id": number, "content": "so", "state": "visible"})
    made = [
        unlock_hint(conn, now, NewUnlock(user, is_admin=False, target=first.id)),
        unlock_hint(conn, now, NewUnlock(user, is_admin=False, target=second.id)),
        unlock_solution(conn, now, NewUnlock(user, is_admin=False, target=solution)),
    ]
    assert list_unlocks(conn, UnlockFilter(user_id=user)) == made
    assert list_unlocks(conn, UnlockFilter(q=str(second.id), field="target", type="hints")) == [made[1]]
    assert list_unlocks(conn, UnlockFilter(q=str(2**70), field="target")) == []
    hints_store.delete_hint(conn, second.id)
    assert hints_store.create_hint(conn, hints_store.HintFields()).id > second.id


def test_tags_topics_and_brackets(any_conn: Connection) -> None:
    conn, number = any_conn, a_challenge(any_conn)
    tag = tags_store.create_tag(conn, tags_store.TagFields(challenge=number, value="easy"))
    assert tags_store.list_tags(conn, tags_store.TagFilter(q=str(number), field="challenge_id")) == [tag]
    assert tags_store.update_tag(conn, tag["id"], tags_store.TagFields(value="hard"))["value"] == "hard"
    tags_store.delete_tag(conn, tag["id"])
    with pytest.raises(NotFound):
        tags_store.read_tag(conn, tag["id"])
    link = topics_store.link_topic(conn, topics_store.LinkFields(challenge_id=number, value="RSA"))
    assert parts.list_topics(conn, number)[0]["value"] == "RSA"
    topics_store.unlink_topic(conn, link["id"])
    assert topics_store.link_topic(conn, topics_store.LinkFields(challenge=number, topic_id=link["topic"]))
    topics_store.delete_topic(conn, link["topic"])
    assert parts.list_topics(conn, number) == topics_store.list_topics(conn, topics_store.TopicFilter()) == []
    bracket = create_bracket(conn, BracketFields(name="Students", type="users"))
    a_user(conn, bracket_id=bracket.id)
    delete_bracket(conn, bracket.id)
    assert list_brackets(conn, BracketFilter()) == ()
    assert conn.scalar(users.select().with_only_columns(users.c.bracket_id)) is None


def test_a_topic_that_is_made_at_once_is_made_once(database_url: str) -> None:
    nodes = [Database(open_engines(database_url), Bus(), write=start_inline, read=start_inline) for _ in range(AT_ONCE)]
    challenge: Any = a_challenge
    number = result_of(nodes[0].run(challenge))
    together = Barrier(AT_ONCE)

    def link(node: Database) -> Any:
        result_of(node.run(topics_store.list_topics, topics_store.TopicFilter()))
        together.wait(30)
        fields = topics_store.LinkFields(challenge_id=number, value="RSA")
        return result_of(node.run(topics_store.link_topic, fields))["topic_id"]

    with ThreadPoolExecutor(AT_ONCE) as threads:
        made = list(threads.map(link, nodes))
    assert len(set(made)) == 1
    assert len(result_of(nodes[0].read(parts.list_topics, number))) == AT_ONCE
    for node in nodes:
        node.close()
