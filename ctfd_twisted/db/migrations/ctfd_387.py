"""The schema of CTFd 3.8.7, written out: frozen, whatever today's tables say."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

#: What CTFd 3.8.7 writes into ``alembic_version`` and ``config`` to say which schema stands here.
REVISION = "8275865e5992"
VERSION = "3.8.7"
DYNAMIC_REVISION = "93284ed9c099"

schema = MetaData()


def _id() -> Column[Any]:
    return Column("id", Integer, primary_key=True)


def _ref(name: str, target: str, rule: str | None = "CASCADE", **options: Any) -> Column[Any]:
    return Column(name, Integer, ForeignKey(target, ondelete=rule), **options)


def _strings(length: int, *names: str) -> list[Column[Any]]:
    return [Column(name, String(length)) for name in names]


def _texts(*names: str) -> list[Column[Any]]:
    return [Column(name, Text) for name in names]


def _numbers(*names: str) -> list[Column[Any]]:
    return [Column(name, Integer) for name in names]


def _flags(*names: str) -> list[Column[Any]]:
    return [Column(name, Boolean) for name in names]


def _required(name: str, default: str | None = None) -> Column[Any]:
    # The default is used where the column is added to a table with rows, and only there.
    return Column(name, String(80), nullable=False, info={"fill": default})


Table(
    "alembic_version",
    schema,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
Table("config", schema, _id(), *_texts("key", "value"))
Table("brackets", schema, _id(), *_strings(255, "name"), *_texts("description"), *_strings(80, "type"))
Table(
    "users",
    schema,
    _id(),
    Column("oauth_id", Integer, unique=True),
    *_strings(128, "name", "password"),
    Column("email", String(128), unique=True),
    *_strings(80, "type"),
    *_strings(128, "secret", "website", "affiliation"),
    *_strings(32, "country"),
    _ref("bracket_id", "brackets.id", "SET NULL"),
    *_flags("hidden", "banned", "verified"),
    *_strings(32, "language"),
    *_flags("change_password"),
    _ref("team_id", "teams.id", None),
    Column("created", DateTime),
    UniqueConstraint("id", "oauth_id"),
)
Table(
    "teams",
    schema,
    _id(),
    Column("oauth_id", Integer, unique=True),
    *_strings(128, "name"),
    Column("email", String(128), unique=True),
    *_strings(128, "password", "secret", "website", "affiliation"),
    *_strings(32, "country"),
    _ref("bracket_id", "brackets.id", "SET NULL"),
    *_flags("hidden", "banned"),
    # Named as CTFd names it, and added after both tables where the dialect can: users refer to teams as well.
    Column("captain_id", Integer, ForeignKey("users.id", name="team_captain_id", ondelete="SET NULL", use_alter=True)),
    Column("created", DateTime),
    UniqueConstraint("id", "oauth_id"),
)
Table(
    "tokens",
    schema,
    _id(),
    *_strings(32, "type"),
    _ref("user_id", "users.id"),
    Column("created", DateTime),
    Column("expiration", DateTime),
    *_texts("description"),
    Column("value", String(128), unique=True),
)
Table(
    "tracking",
    schema,
    _id(),
    *_strings(32, "type"),
    *_strings(46, "ip"),
    *_numbers("target"),
    _ref("user_id", "users.id"),
    Column("date", DateTime),
)
Table(
    "fields",
    schema,
    _id(),
    *_texts("name"),
    *_strings(80, "type", "field_type"),
    *_texts("description"),
    *_flags("required", "public", "editable"),
)
Table(
    "field_entries",
    schema,
    _id(),
    *_strings(80, "type"),
    Column("value", JSON),
    _ref("field_id", "fields.id"),
    _ref("user_id", "users.id"),
    _ref("team_id", "teams.id"),
)
Table("audiences", schema, _id(), _required("name"), *_texts("description"), _required("type", "standard"))
Table(
    "audience_members",
    schema,
    _id(),
    _ref("audience_id", "audiences.id", nullable=False),
    _ref("user_id", "users.id"),
    _ref("team_id", "teams.id"),
    UniqueConstraint("audience_id", "user_id", name="uq_audience_user"),
    UniqueConstraint("audience_id", "team_id", name="uq_audience_team"),
)
Table("modules", schema, _id(), _required("name"), *_texts("description"))
Table(
    "module_audience_access",
    schema,
    _id(),
    _ref("module_id", "modules.id", nullable=False),
    _ref("audience_id", "audiences.id", nullable=False),
    UniqueConstraint("module_id", "audience_id", name="uq_module_audience"),
)
Table(
    "challenges",
    schema,
    _id(),
    *_strings(80, "name"),
    *_texts("description", "attribution", "connection_info"),
    _ref("next_id", "challenges.id", "SET NULL"),
    *_numbers("max_attempts", "value"),
    *_strings(80, "category", "type"),
    _required("state", "visible"),
    _required("logic", "any"),
    *_numbers("initial", "minimum", "decay"),
    Column("position", Integer, nullable=False, info={"fill": "0"}),
    *_strings(32, "function"),
    Column("scheduled_at", DateTime),
    _ref("module_id", "modules.id", "SET NULL"),
    Column("requirements", JSON),
)
Table(
    "dynamic_challenge",
    schema,
    _ref("id", "challenges.id", primary_key=True, autoincrement=False),
    *_numbers("dynamic_initial", "dynamic_minimum", "dynamic_decay"),
    *_strings(32, "dynamic_function"),
)
Table("flags", schema, _id(), _ref("challenge_id", "challenges.id"), *_strings(80, "type"), *_texts("content", "data"))
Table(
    "hints",
    schema,
    _id(),
    *_strings(80, "title", "type"),
    _ref("challenge_id", "challenges.id"),
    *_texts("content"),
    *_numbers("cost"),
    Column("requirements", JSON),
)
Table(
    "solutions",
    schema,
    _id(),
    _ref("challenge_id", "challenges.id", unique=True),
    *_texts("content"),
    _required("state", "hidden"),
)
Table("tags", schema, _id(), _ref("challenge_id", "challenges.id"), *_strings(80, "value"))
Table("topics", schema, _id(), Column("value", String(255), unique=True))
Table("challenge_topics", schema, _id(), _ref("challenge_id", "challenges.id"), _ref("topic_id", "topics.id"))
Table(
    "ratings",
    schema,
    _id(),
    _ref("user_id", "users.id"),
    _ref("challenge_id", "challenges.id"),
    *_numbers("value"),
    *_strings(2000, "review"),
    Column("date", DateTime),
    UniqueConstraint("user_id", "challenge_id"),
)
Table(
    "pages",
    schema,
    _id(),
    *_strings(80, "title"),
    Column("route", String(128), unique=True),
    *_texts("content"),
    *_flags("draft", "hidden", "auth_required"),
    *_strings(80, "format", "link_target"),
)
Table(
    "files",
    schema,
    _id(),
    *_strings(80, "type"),
    *_texts("location"),
    *_strings(40, "sha1sum"),
    _ref("challenge_id", "challenges.id"),
    _ref("page_id", "pages.id", None),
    _ref("solution_id", "solutions.id"),
)
Table(
    "notifications",
    schema,
    _id(),
    *_texts("title", "content"),
    Column("date", DateTime),
    _ref("user_id", "users.id", None),
    _ref("team_id", "teams.id", None),
)
Table(
    "comments",
    schema,
    _id(),
    *_strings(80, "type"),
    *_texts("content"),
    Column("date", DateTime),
    _ref("author_id", "users.id"),
    _ref("challenge_id", "challenges.id"),
    _ref("user_id", "users.id"),
    _ref("team_id", "teams.id"),
    _ref("page_id", "pages.id"),
)
Table(
    "submissions",
    schema,
    _id(),
    _ref("challenge_id", "challenges.id"),
    _ref("user_id", "users.id"),
    _ref("team_id", "teams.id"),
    *_strings(46, "ip"),
    *_texts("provided"),
    *_strings(32, "type"),
    Column("date", DateTime),
)
Table(
    "solves",
    schema,
    _ref("id", "submissions.id", primary_key=True, autoincrement=False),
    _ref("challenge_id", "challenges.id"),
    _ref("user_id", "users.id"),
    _ref("team_id", "teams.id"),
    UniqueConstraint("challenge_id", "user_id"),
    UniqueConstraint("challenge_id", "team_id"),
)
Table(
    "awards",
    schema,
    _id(),
    _ref("user_id", "users.id"),
    _ref("team_id", "teams.id"),
    Column("type", String(80), info={"fill": "standard"}),
    *_strings(80, "name"),
    *_texts("description"),
    Column("date", DateTime),
    *_numbers("value"),
    *_strings(80, "category"),
    *_texts("icon"),
    Column("requirements", JSON),
)
Table(
    "unlocks",
    schema,
    _id(),
    _ref("user_id", "users.id"),
    _ref("team_id", "teams.id"),
    *_numbers("target"),
    Column("date", DateTime),
    *_strings(32, "type"),
)
