"""The agent's answers in memory: klein's resource behind its door, asked through StubTreq."""

import hashlib
import hmac
from typing import Any

from treq.testing import StubTreq
from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from koth_agent.access import parse_networks
from koth_agent.identity import OwnerUnknown
from koth_agent.run import Run
from koth_agent.site import Door, Routes

EVERYWHERE = "0.0.0.0/0,::/0"
HEALTHY = Run(b"fine", b"", 0)


class SiteTests(SynchronousTestCase):
    def agent(
        self, owner: str | None = "alice", run: Run = HEALTHY, key: bytes | None = None, origin: str = EVERYWHERE
    ) -> None:
        async def who() -> str:
            self.asked.append("owner")
            if owner is None:
                raise OwnerUnknown("owner.txt: No such file or directory")
            return owner

        def health() -> Deferred[Run]:
            self.asked.append("health")
            return succeed(run)

        self.asked: list[str] = []
        self.stub: Any = StubTreq(Door(Routes(who, health, key).app.resource(), key, parse_networks(origin)))

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[Any, bytes]:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        response = self.successResultOf(self.stub.request(method, f"http://agent{path}", headers=names))
        return response, self.successResultOf(self.stub.content(response))

    def header(self, response: Any, name: str) -> str | None:
        values = response.headers.getRawHeaders(name)
        return None if values is None else ", ".join(values)

    def test_status_names_the_owner(self) -> None:
        self.agent()
        response, body = self.ask("/status")
        assert (response.code, body) == (200, b'{"success":true,"data":{"identifier":"alice"}}')
        assert self.header(response, "Content-Type") == "application/json"
        assert self.header(response, "Cache-Control") == "no-store"
        assert response.length == len(body)

    def test_an_unknown_owner_is_500_and_the_log_says_why(self) -> None:
        self.agent(owner=None)
        response, body = self.ask("/status")
        assert (response.code, body) == (500, b'{"success":false,"data":{"identifier":""}}')
        assert self.header(response, "Content-Type") == "application/json"

    def test_healthcheck_tells_the_run(self) -> None:
        self.agent()
        response, body = self.ask("/healthcheck")
        assert (response.code, body) == (200, b'{"success":true,"data":{"stdout":"fine","stderr":"","status":0}}')

    def test_an_unhealthy_target_is_500(self) -> None:
        self.agent(run=Run(b"", b"down", 2))
        response, body = self.ask("/healthcheck")
        assert (response.code, body) == (500, b'{"success":false,"data":{"stdout":"","stderr":"down","status":2}}')

    def test_each_request_asks_anew(self) -> None:
        self.agent()
        self.ask("/status")
        self.ask("/status")
        assert self.asked == ["owner", "owner"]

    def test_without_the_key_every_request_is_401(self) -> None:
        self.agent(key=b"K")
        for path in ("/status", "/healthcheck", "/elsewhere", "/%ff"):
            for headers in ({}, {"Authorization": "wrong"}, {"Authorization": "Token wrong"}):
                response, body = self.ask(path, "POST" if path == "/elsewhere" else "GET", **headers)
                assert (response.code, body) == (401, b"Unauthorized")
                assert self.header(response, "Content-Type") == "text/plain; charset=utf-8"
        assert self.asked == []

    def test_with_the_key_requests_are_answered(self) -> None:
        self.agent(key=b"K")
        assert self.ask("/status", Authorization="K")[0].code == 200
        assert self.ask("/status", authorization="Token K")[0].code == 200

    def test_the_key_is_asked_for_before_the_origin(self) -> None:
        self.agent(key=b"K", origin="10.0.0.0/8")
        assert self.ask("/status")[0].code == 401
        response, body = self.ask("/status", Authorization="K")
        assert (response.code, body, self.header(response, "Content-Type")) == (403, b"Forbidden", "text/plain")
        assert self.asked == []

    def test_without_a_key_the_origin_alone_decides(self) -> None:
        self.agent(origin="10.0.0.0/8")
        assert self.ask("/status")[0].code == 403
        self.agent(origin="127.0.0.0/8")
        assert self.ask("/status")[0].code == 200

    def test_other_paths_are_404(self) -> None:
        self.agent()
        for path in ("/", "/status/", "/status/x", "//status", "/x//status", "/Status", "/%ff", "/healthcheck.json"):
            assert self.ask(path)[0].code == 404, path
        assert self.asked == []

    def test_a_query_is_ignored(self) -> None:
        self.agent()
        assert self.ask("/status?x=1&y=%ff")[0].code == 200

    def test_other_methods_are_405(self) -> None:
        self.agent()
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"):
            response, _ = self.ask("/status", method)
            assert (response.code, self.header(response, "Allow")) == (405, "GET, HEAD"), method
        assert self.asked == []

    def test_head_is_get_without_the_body(self) -> None:
        self.agent()
        response, body = self.ask("/status", "HEAD")
        assert (response.code, body) == (200, b"")

    def test_host_names_that_no_host_has_do_no_harm(self) -> None:
        self.agent()
        for name in ("a..b", "x" * 300, "é", "[::1", ":"):
            assert self.ask("/status", Host=name)[0].code == 200, name

    def test_an_answer_to_a_nonce_is_signed_failures_too(self) -> None:
        self.agent(owner=None, run=Run(b"", b"", 1), key=b"K")
        for path, method in (("/status", "GET"), ("/healthcheck", "GET"), ("/x", "GET"), ("/status", "POST")):
            response, body = self.ask(path, method, Authorization="K", KoTH_Nonce="n.1")
            expected = hmac.new(b"K", b"n.1." + body, hashlib.sha256).hexdigest()
            assert self.header(response, "KoTH-Signature") == f"v1={expected}", path

    def test_without_a_nonce_or_a_key_nothing_is_signed(self) -> None:
        self.agent(key=b"K")
        assert self.header(self.ask("/status", Authorization="K")[0], "KoTH-Signature") is None
        self.agent()
        assert self.header(self.ask("/status", KoTH_Nonce="n")[0], "KoTH-Signature") is None

    def test_a_stranger_gets_no_signature_to_try_keys_on(self) -> None:
        self.agent(key=b"K")
        assert self.header(self.ask("/status", KoTH_Nonce="n")[0], "KoTH-Signature") is None

    def test_the_server_says_nothing_about_its_version(self) -> None:
        self.agent(key=b"K")
        for headers in ({}, {"Authorization": "K"}):
            assert self.header(self.ask("/status", **headers)[0], "Server") == "koth-agent"
