"""The way of a request, seen from outside."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest
from treq.testing import StubTreq
from twisted.internet.defer import Deferred
from twisted.logger import LogLevel, capturedLogs
from twisted.web.resource import Resource

from ctfd_twisted.db.database import WAITING
from ctfd_twisted.db.notices import EVERYTHING
from ctfd_twisted.http.answers import Answer, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN, ANYONE, AUTHED
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.site import PlatformSite, mounted
from ctfd_twisted.ops.health import FrontDoor
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.platform import Client


def test_before_setup_everything_leads_there() -> None:
    memory = MemoryPlatform()
    for path in ("/", "/api/v1/users", "/nothing"):
        reply = memory.client().get(path)
        assert (reply.status, reply.location) == (302, "/setup")
    memory.close()


def test_a_route_without_a_gate_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError):
        Routes().get("/open")


def test_unknown_paths_are_pages_and_unknown_methods_of_the_api_are_json(platform: MemoryPlatform) -> None:
    client = platform.admin()
    assert client.get("/api/v1/nothing").headers["content-type"].startswith("text/html")
    assert client.get("/api/v1/nothing").status == 404
    reply = client.put("/api/v1/challenges", {})
    assert reply.status == 404
    assert reply.json["message"].startswith("The requested URL was not found")
    assert client.get("/api/v1/challenges/").status == 404


def test_options_names_the_methods(platform: MemoryPlatform) -> None:
    reply = platform.client().request("OPTIONS", "/api/v1/challenges")
    assert reply.status == 200
    assert reply.headers["allow"] == "GET, HEAD, OPTIONS, POST"


def test_a_head_request_has_the_headers_and_no_body(platform: MemoryPlatform) -> None:
    client = platform.admin()
    assert client.request("HEAD", "/api/v1/scoreboard").body == b""
    reply = client.request("HEAD", "/api/v1/scoreboard")
    assert reply.headers["content-length"] == str(len(client.get("/api/v1/scoreboard").body))


def test_every_answer_is_protected(platform: MemoryPlatform) -> None:
    for path in ("/api/v1/scoreboard", "/login", "/nothing"):
        headers = platform.client().get(path).headers
        assert headers["cross-origin-opener-policy"] == "same-origin-allow-popups"
        assert headers["x-content-type-options"] == "nosniff"


def test_a_token_counts_for_the_api_whatever_the_type_and_elsewhere_for_json_alone(platform: MemoryPlatform) -> None:
    token = platform.admin().token
    headers = {"Authorization": f"Token {token}"}
    assert platform.client().get("/api/v1/tokens", headers=headers).status == 200
    assert platform.client().get("/settings", headers=headers).status == 302
    assert platform.client().get("/settings", headers=headers, content_type="application/json").status == 200


def test_a_script_is_answered_errors_and_a_browser_is_led_to_the_login(platform: MemoryPlatform) -> None:
    headers = {"Authorization": f"Token {platform.player('ann').token}"}
    assert platform.client().get("/api/v1/flags", headers=headers).status == 403
    assert platform.client().get("/api/v1/flags").location.startswith("/login?next=")


def test_a_token_counts_whatever_cookie_comes_with_it(platform: MemoryPlatform) -> None:
    ann = platform.player("ann")
    ann.cookies["session"] = "s.stale.signature"
    assert ann.get("/api/v1/users/me").data["name"] == "ann"


def test_attempts_to_sign_in_are_counted_by_account_and_widely_by_address(platform: MemoryPlatform) -> None:
    browser = platform.client()
    for _ in range(10):
        assert browser.submit("/login", name="Ann", password="x").status == 200
    refused = browser.submit("/login", name="ann ", password="x")
    assert (refused.status, refused.headers["retry-after"]) == (429, "6")
    assert browser.submit("/login", name="bob", password="x").status == 200
    platform.configure(rate_limit_shared_address=1)
    assert browser.submit("/login", name="eve", password="x").status == 429
    platform.clock.advance(6)
    assert browser.submit("/login", name="ann", password="x").status == 200


def test_too_many_parameters_are_refused(platform: MemoryPlatform) -> None:
    reply = platform.client().get("/api/v1/brackets?" + "&".join(f"a{number}=1" for number in range(1001)))
    assert (reply.status, reply.errors) == (400, {"": ["at most 1000 query parameters are read"]})


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("Token", "Invalid authorization header"),
        ("Token a b", "Invalid authorization header"),
        ("Token ctfd_unknown", "Your access token is invalid"),
    ],
)
def test_a_token_that_does_not_count_says_why(platform: MemoryPlatform, header: str, message: str) -> None:
    reply = platform.client().get("/api/v1/tokens", headers={"Authorization": header}, content_type="application/json")
    assert (reply.status, reply.json) == (401, {"message": message})


def test_an_expired_token_says_so(platform: MemoryPlatform) -> None:
    client = platform.player("alice")
    platform.clock.advance(31 * 86_400)
    client.cookies.clear()
    assert client.get("/api/v1/tokens").json == {"message": "Your access token has expired"}


def test_the_cookie_that_comes_with_a_token_stands_for_it(platform: MemoryPlatform) -> None:
    client = platform.player("alice")
    client.get("/api/v1/tokens")
    browser = platform.client()
    browser.cookies = dict(client.cookies)
    reply = browser.get("/api/v1/tokens", content_type="application/json")
    assert reply.status == 200
    token_id = reply.data[0]["id"]
    assert client.delete(f"/api/v1/tokens/{token_id}").status == 200
    assert browser.get("/api/v1/tokens", content_type="application/json").status == 403


def test_a_browsers_write_needs_its_nonce(platform: MemoryPlatform) -> None:
    client = platform.player("alice")
    client.get("/api/v1/tokens")
    browser = platform.client()
    browser.cookies = dict(client.cookies)
    for nonce in ("", "0" * 64, platform.client().nonce):
        reply = browser.post("/api/v1/tokens", {}, headers={"CSRF-Token": nonce})
        assert reply.status == 403
        assert "message" in reply.json
    assert browser.post("/api/v1/tokens", {}).status == 200


def test_an_authorization_header_that_is_not_used_does_not_switch_csrf_off(platform: MemoryPlatform) -> None:
    headers = {"Authorization": f"Token {platform.player('ann').token}"}
    reply = platform.client().request("POST", "/login", data={"name": "ann", "password": "x"}, headers=headers)
    assert reply.status == 403


def test_a_ban_holds_for_tokens_too(platform: MemoryPlatform) -> None:
    client = platform.player("mallory", banned=True)
    reply = client.get("/api/v1/tokens")
    assert reply.status == 403
    assert "You have been banned from this CTF" in reply.text


def test_the_ban_of_a_team_holds_for_its_members(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    platform.configure(user_mode="teams")
    client = platform.player("alice")
    user_id = client.get("/api/v1/users/me").data["id"]
    team = admin.post("/api/v1/teams", {"name": "A", "password": "p"}).data["id"]
    admin.post(f"/api/v1/teams/{team}/members", {"user_id": user_id})
    assert client.get("/api/v1/teams/me").status == 200
    admin.patch(f"/api/v1/teams/{team}", {"banned": True})
    assert "Your team has been banned from this CTF" in client.get("/api/v1/teams/me").text


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b'"x"'])
@pytest.mark.parametrize("status", [500, 400])
def test_a_malformed_body_says_what_is_wrong_and_changes_nothing(body: bytes, status: int) -> None:
    memory = MemoryPlatform(malformed_payload_status=status).setup()
    admin = memory.admin()
    before = len(admin.get("/api/v1/users?view=admin").data)
    reply = admin.request("POST", "/api/v1/users", data=body)
    assert reply.status == status
    assert reply.json["success"] is False
    assert reply.json["message"] == "Internal Server Error"
    assert len(reply.errors[""]) == 1
    assert len(admin.get("/api/v1/users?view=admin").data) == before
    memory.close()


def test_only_trusted_hosts_are_answered() -> None:
    memory = MemoryPlatform(trusted_hosts=("ctf.example",)).setup()
    assert memory.client().get("/api/v1/scoreboard").status == 200
    assert memory.client().get("/api/v1/scoreboard", headers={"Host": "evil.example"}).status == 400
    memory.close()


def test_links_respect_the_application_root() -> None:
    memory = MemoryPlatform(application_root="/ctf").setup()
    reply = memory.client().get("/api/v1/tokens")
    assert reply.location.startswith("/ctf/login?next=")
    memory.close()


def test_gates_and_handlers_may_be_plain_functions() -> None:
    class Things:
        routes = Routes()

        @routes.get("/things", ANYONE)
        def show(self, call: Call) -> Answer:
            return ok(call.is_json)

        @routes.post("/things", AUTHED, ADMIN)
        async def make(self, call: Call) -> Answer:
            return ok(call.body_object())

    assert [(route.method, route.gates) for route, _ in Things.routes.of(Things())] == [
        ("GET", (ANYONE,)),
        ("POST", (AUTHED, ADMIN)),
    ]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "PROPFIND", "TRACE"])
def test_what_is_not_there_is_said_to_be_missing_whatever_is_asked_of_it(platform: MemoryPlatform, method: str) -> None:
    assert platform.client().request(method, "/nothing").status == 404
    missing = platform.client().request(method, "/api/v1/scoreboard")
    assert (missing.status, missing.headers["content-type"]) == (404, "application/json")


@pytest.mark.parametrize("path", ["/api/v1/users/" + "9" * 5000, "/api/v1/users/" + "9" * 20])
def test_a_number_beyond_all_bounds_is_nobodys(platform: MemoryPlatform, path: str) -> None:
    reply = platform.client().get(path)
    assert (reply.status, reply.headers["x-content-type-options"]) == (404, "nosniff")


@pytest.mark.parametrize("host", ["a..b", "a" * 64, "ctf.example:80@evil.example", "ctf.example/"])
def test_a_host_that_is_none_is_refused(platform: MemoryPlatform, host: str) -> None:
    assert platform.client().get("/login", headers={"Host": host}).status == 400


def test_a_host_that_begins_like_a_trusted_one_is_not_trusted() -> None:
    memory = MemoryPlatform(trusted_hosts=("ctf.example",), trusted_proxies=(ip_network("0.0.0.0/0"),)).setup()
    for host in ("ctf.example:80@evil.example", "ctf.example.evil.example"):
        assert memory.client().get("/login", headers={"Host": host}).status == 400
    memory.close()


def test_a_path_that_is_no_text_is_refused(platform: MemoryPlatform) -> None:
    assert platform.client().get("/%ff").status == 400


def test_a_field_of_a_form_is_not_one_of_the_query(platform: MemoryPlatform) -> None:
    browser = platform.client()
    form = {"nonce": browser.nonce, "name": "ann", "password": "x"}
    assert browser.request("POST", "/login?name=bob", data=form).status == 200
    assert (
        browser.request("POST", f"/login?nonce={browser.nonce}&nonce={browser.nonce}", data={"name": "x"}).status == 403
    )


def test_a_form_may_come_in_parts(platform: MemoryPlatform) -> None:
    browser = platform.client()
    parts = "".join(
        f'--edge\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in (("nonce", browser.nonce), ("name", "ann"), ("password", "x"))
    )
    kind = "multipart/form-data; boundary=edge"
    assert browser.request("POST", "/login", data=f"{parts}--edge--".encode(), content_type=kind).status == 200
    assert browser.request("POST", "/login", data=parts.encode(), content_type=kind).status == 400


class Waiting:
    """A route whose answer never comes."""

    routes = Routes()

    def __init__(self) -> None:
        self.cancelled = False

    @routes.get("/slow", ANYONE)
    async def slow(self, _call: Call) -> Answer:
        waiting: Deferred[Answer] = Deferred(lambda _: setattr(self, "cancelled", True))
        return await waiting


def test_who_hangs_up_is_not_a_defect(platform: MemoryPlatform) -> None:
    waiting = Waiting()
    site = PlatformSite(platform.platform.pipeline, [waiting], lambda *_: ok(None))
    with capturedLogs() as logs:
        asking = StubTreq(site.resource())
        asked: Deferred[Any] = asking.get("http://ctf.example/slow")  # type: ignore[attr-defined]
        asked.addErrback(lambda _: None)
        asked.cancel()
        asking.flush()
    assert waiting.cancelled
    assert [event for event in logs if event["log_level"] >= LogLevel.warn] == []


def test_a_defect_is_told_without_details_and_found_by_its_reference(platform: MemoryPlatform) -> None:
    class Broken:
        routes = Routes()

        @routes.get("/api/v1/broken", ANYONE)
        def broken(self, _call: Call) -> Answer:
            raise RuntimeError("a secret")

    stub = Client(PlatformSite(platform.platform.pipeline, [Broken()], lambda *_: ok(None)).resource())
    with capturedLogs() as logs:
        replies = [stub.get("/api/v1/broken") for _ in range(3)]
    references = [reply.json.pop("reference") for reply in replies]
    assert [(reply.status, reply.json["message"]) for reply in replies] == [(500, "Internal Server Error")] * 3
    assert references == [event["reference"] for event in logs if "reference" in event]
    assert len(set(references)) == 3


class Inside(Resource):
    """What stands below the application root."""

    isLeaf = True

    def render(self, request: Any) -> bytes:
        return b"inside " + b"/".join(request.postpath)


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/ctf", "/ctf/"),
        ("/", "/ctf/"),
        ("/login?next=/x", "/ctf/login?next=/x"),
        ("//evil.example/", "/ctf//evil.example/"),
        ("/ctfx", "/ctf/ctfx"),
    ],
)
def test_what_lies_outside_the_application_root_leads_inside(
    platform: MemoryPlatform, path: str, location: str
) -> None:
    door = FrontDoor(platform.db, platform.clock)
    door.open(Inside())
    client = Client(mounted(door, "/ctf"))
    assert client.get("/ctf/login").body == b"inside login"
    reply = client.get(path)
    assert (reply.status, reply.location) == (302, location)


def test_without_a_database_everybody_is_told_to_come_back_and_pages_still_load_what_they_need(
    platform: MemoryPlatform,
) -> None:
    platform.bus.publish({EVERYTHING})  # nothing is known any more
    platform.db.reads.waiting = WAITING
    with capturedLogs() as logs:
        for path in ("/", "/login", "/api/v1/scoreboard"):
            reply = platform.client().get(path)
            assert (reply.status, reply.headers["retry-after"]) == (503, "1")
        assert platform.client().get("/themes/core/static/site.css").status == 200
    assert [event for event in logs if event["log_level"] >= LogLevel.warn] == []
