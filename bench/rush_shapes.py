"""What a rush is made of, and what comes of it; processes of the client are handed these."""

from __future__ import annotations

import msgspec


class Person(msgspec.Struct):
    """One player: with *headers* that sign them in, or with a name and a password to do so themselves."""

    name: str
    password: str = ""
    headers: list[tuple[str, str]] = []
    #: The address that a proxy would name, where the server trusts us to name one.
    address: str = ""


class Place(msgspec.Struct, frozen=True):
    """Where is played: *flags* are right answers by challenge, as far as they are known."""

    host: str
    port: int
    tls: bool = False
    root: str = ""
    flags: dict[int, str] = {}


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """One request: its kind, when it began and how long it took in seconds, and what came: a status, or a fault."""

    kind: str
    at: float
    seconds: float
    status: int
    retry_after: int | None
    fault: str


class Part(msgspec.Struct, frozen=True):
    """What one process plays: *begins* is the opening, by ``time.time()``."""

    place: Place
    people: list[Person]
    first: int
    begins: float
    seconds: float
    seed: int


class Played(msgspec.Struct, frozen=True):
    """The requests of one process, and by how much its own timers were late: what the client adds to each of them."""

    samples: list[Sample]
    late: list[float]
