"""The list of challenges on shelves."""

from __future__ import annotations

import gzip
from typing import Any

import msgspec
from markupsafe import Markup

from ctfd_twisted.http.zipped import zipped
from ctfd_twisted.web.shelves import Cabinet


def challenge(number: int, **columns: Any) -> dict[str, Any]:
    return {"id": number, "type": "standard", "category": "web", "solved_by_me": False, "name": "café", **columns}


def answer(*challenges: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"success": True, "data": challenges})


class Drawer:
    """Draws tiles and what stands before them, and counts."""

    def __init__(self) -> None:
        self.tiles = 0

    def tile(self, shown: dict[str, Any], hill: Any, _: Any) -> Markup:
        self.tiles += 1
        return Markup("{}:{}:{}").format(shown["id"], shown["name"], hill)

    def begin(self, *values: Any) -> Markup:
        return Markup("[{}. {} {}/{}]").format(*values)

    def cabinet(self) -> Cabinet:
        return Cabinet(self.tile, self.begin, str)


def shown(cabinet: Cabinet, body: bytes, hills: dict[int, Any] | None = None) -> str:
    shelves = cabinet.shelves(cabinet.tiles(body), hills or {})
    assert gzip.decompress(b"".join(zipped((shelves.pieces,), shelves.body))) == shelves.body
    return " ".join(shelves.body.decode().replace("</ul>", "").replace("</section>", "").split())


def test_shelves_stand_in_the_order_in_which_their_categories_come() -> None:
    body = answer(
        challenge(1, solved_by_me=True),
        challenge(2, category=None),
        challenge(3),
        challenge(4, category="a", type="koth"),
    )
    assert shown(Drawer().cabinet(), body, {4: "king"}) == (
        "[1. web 1/2] <li>1:café:None</li> <li>3:café:None</li> "
        "[2. Without category 0/1] <li>2:café:None</li> [3. a 0/0] <li>4:café:king</li>"
    )


def test_a_tile_is_drawn_once_while_the_list_says_the_same_of_it_and_a_hill_each_time() -> None:
    drawer = Drawer()
    cabinet = drawer.cabinet()
    for _ in range(3):
        shown(cabinet, answer(*map(challenge, range(1, 31))))
    assert drawer.tiles == 30
    shown(cabinet, answer(challenge(1, solved_by_me=True), *map(challenge, range(2, 31))))
    assert drawer.tiles == 31
    hill = answer(challenge(31, type="koth"))
    assert [shown(cabinet, hill, {31: king})[-14:] for king in ("ann", "ben")] == [":café:ann</li>", ":café:ben</li>"]


def test_a_list_without_challenges_says_so() -> None:
    assert "There are no challenges yet." in shown(Drawer().cabinet(), answer())
