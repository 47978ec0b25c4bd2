"""An agent of a hill that costs next to nothing: the same answer to whoever asks, and the connection is closed."""

from __future__ import annotations

import asyncio

BODY = b'{"success":true,"data":{"identifier":"ada"}}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (
    len(BODY),
    BODY,
)


class Agent(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - what a TCP server is given
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer when the request has ended."""
        if data.endswith(b"\r\n\r\n"):
            self._transport.write(ANSWER)
            self._transport.close()


async def main() -> None:
    """Listen on a free port, and print it."""
    server = await asyncio.get_running_loop().create_server(Agent, "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\nReady", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
