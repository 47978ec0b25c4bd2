"""The limit to come close to: one Klein route that returns bytes that are ready."""

from __future__ import annotations

from klein import Klein
from twisted.internet import reactor
from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.internet.interfaces import IListeningPort

from ctfd_twisted.http.server import QuietSite


def main() -> None:
    """Serve ``/<size>``: that many bytes, as JSON."""
    app = Klein()
    ready: dict[int, bytes] = {}

    @app.route("/<int:size>")
    def answer(request, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - klein's shape
        request.setHeader(b"content-type", b"application/json")
        body = ready.get(size)
        if body is None:
            body = ready[size] = b"x" * size
        request.setHeader(b"content-length", b"%d" % size)
        return body

    def listening(port: IListeningPort) -> None:
        print(f"http://127.0.0.1:{getattr(port.getHost(), 'port', 0)}\nReady", flush=True)

    site = QuietSite(app.resource())
    TCP4ServerEndpoint(reactor, 0, interface="127.0.0.1").listen(site).addCallback(listening)
    reactor.run()


if __name__ == "__main__":
    main()
