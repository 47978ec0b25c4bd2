"""Pages that are drawn once around what changes."""

from __future__ import annotations

import gc
import gzip
import re

from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.web.frames import Frame, Html, new_marks

MARKS = new_marks()
PAGE = (
    f'<script nonce="{MARKS.policy}">init("{MARKS.form}", "ann@example.org")</script><main>{"text " * 100}'
    f'{MARKS.middle}</main><script nonce="{MARKS.policy}"></script>'
)
POLICY, FORM = "p" * 24, "f" * 64


def page(client: Client, path: str = "/challenges") -> str:
    reply = client.get(path)
    assert reply.status == 200
    return reply.text


def without_nonces(text: str) -> str:
    return re.sub(r'nonce="[\w-]{24}"|[0-9a-f]{64}', "", text)


def test_a_frame_is_filled_with_nonces_and_its_middle() -> None:
    frame, middle = Frame(PAGE, MARKS), Html("<p>middle</p>")
    told = PAGE.replace(MARKS.policy, POLICY).replace(MARKS.form, FORM).replace(MARKS.middle, "<p>middle</p>")
    assert frame.body(POLICY, FORM, middle).decode() == told
    assert gzip.decompress(frame.zipped(POLICY, FORM, middle)).decode() == told
    assert frame.body("q" * 24, FORM, middle) != frame.body(POLICY, FORM, middle)


def test_what_nobody_else_may_know_is_not_compressed() -> None:
    zipped = Frame(PAGE, MARKS).zipped(POLICY, FORM, Html("<p>middle</p>" * 50))
    assert len(zipped) < len(PAGE)
    for secret in (POLICY, FORM, "ann@example.org"):
        assert secret.encode() in zipped
    assert b"text text" not in zipped
    # Who makes the page repeat a secret does not make it shorter than with anything else of that length.
    guesses = [Frame(PAGE, MARKS).zipped(POLICY, FORM, Html(f"<p>{guess}</p>")) for guess in (FORM, "g" * 64)]
    assert len(guesses[0]) == len(guesses[1])


def test_a_page_without_a_script_or_a_middle_is_a_frame_too() -> None:
    frame = Frame(f"<p>{MARKS.form}</p>", MARKS)
    assert frame.body(POLICY, FORM, None) == f"<p>{FORM}</p>".encode()
    assert gzip.decompress(frame.zipped(POLICY, FORM, None)) == f"<p>{FORM}</p>".encode()


def test_each_answer_has_a_nonce_of_its_own_that_its_policy_names(platform: MemoryPlatform) -> None:
    ann = platform.player("ann")
    replies = [ann.get("/challenges") for _ in range(3)]
    nonces = [re.findall(r'<script nonce="([\w-]{24})"', reply.text) for reply in replies]
    assert len({tuple(found) for found in nonces}) == 3
    for reply, found in zip(replies, nonces, strict=True):
        assert f"'nonce-{found[0]}'" in reply.headers["content-security-policy"]
        assert reply.headers["cache-control"] == "no-store"
    assert len({without_nonces(reply.text) for reply in replies}) == 1


def test_nobody_gets_the_frame_of_another(platform: MemoryPlatform) -> None:
    platform.configure(challenge_visibility="public")
    clients = [platform.player("ann"), platform.player("ben"), platform.client(), platform.client()]
    for _ in range(2):
        texts = [page(client) for client in clients]
        assert [("ann" in text, "ben" in text) for text in texts] == [
            (True, False),
            (False, True),
            (False, False),
            (False, False),
        ]
    found = [re.search(r"[0-9a-f]{64}", text) for text in texts]
    assert len({one[0] for one in found if one is not None}) == len(clients)


def test_a_frame_follows_settings_pages_and_the_player(platform: MemoryPlatform) -> None:
    ann, admin = platform.player("ann"), platform.admin()
    before = page(ann)
    platform.configure(ctf_name="Another name")
    assert "Another name" in page(ann)
    admin.post("/api/v1/pages", {"title": "Sponsors", "route": "sponsors", "content": "x"})
    assert "Sponsors" in page(ann)
    ann.patch("/api/v1/users/me", {"name": "anna"})
    assert "anna" in page(ann)
    assert "anna" not in before


def test_a_challenge_is_on_its_shelf_once_it_is_there(platform: MemoryPlatform) -> None:
    ann = platform.player("ann")
    assert "There are no challenges yet." in page(ann)
    platform.admin().post(
        "/api/v1/challenges",
        {"name": "<first>", "category": "web & co", "value": 5, "state": "visible", "type": "standard"},
    )
    text = page(ann)
    assert "&lt;first&gt;" in text
    assert "web &amp; co" in text


def test_a_page_around_a_long_text_of_the_callers_is_drawn_but_not_kept(platform: MemoryPlatform) -> None:
    def kept() -> int:
        gc.collect()
        return sum(isinstance(one, Frame) for one in gc.get_objects())

    visitor = platform.client()
    before = kept()
    assert visitor.get("/login?next=/users").status == 200
    short = kept()
    assert short == before + 1
    for number in range(3):
        assert visitor.get(f"/login?next={'x' * 5000}{number}").status == 200
    assert kept() == short
