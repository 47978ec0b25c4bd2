"""A bucket that says it has taken everything and keeps nothing: what a platform costs that sends to it is its own."""

from __future__ import annotations

from twisted.internet import reactor
from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.internet.interfaces import IListeningPort
from twisted.web.resource import Resource
from twisted.web.server import Request, Site

_ID = b"<UploadId>1</UploadId>"
_ANSWERS = {
    b"uploads": b"<InitiateMultipartUploadResult>%s</InitiateMultipartUploadResult>" % _ID,
    b"uploadId": b"<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>",
    b"list-type": b"<ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>",
}


class _Forgetful(Request):
    """A request whose body is nowhere."""

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 - twisted.web's name
        """Forget a piece."""


class _Bucket(Resource):
    isLeaf = True

    def render(self, request: Request) -> bytes:
        request.setHeader(b"etag", b'"1"')
        request.setHeader(b"content-type", b"application/xml")
        query = request.uri.partition(b"?")[2]
        for asked, answer in _ANSWERS.items():
            if query.startswith(asked) and request.method in {b"GET", b"POST"}:
                return b'<?xml version="1.0" encoding="UTF-8"?>' + answer
        return b""


def main() -> None:
    """Take whatever comes."""

    def listening(port: IListeningPort) -> None:
        print(f"http://127.0.0.1:{getattr(port.getHost(), 'port', 0)}\nReady", flush=True)

    site = Site(_Bucket(), requestFactory=_Forgetful)
    TCP4ServerEndpoint(reactor, 0, interface="127.0.0.1").listen(site).addCallback(listening)
    reactor.run()


if __name__ == "__main__":
    main()
