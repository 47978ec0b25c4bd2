"""Speaks the Model Context Protocol to ``ctfd-mcp``, by the client of the package ``mcp``, whose environment runs this.

Standard input holds a JSON list of ``[tool, arguments]``. Standard output gets a JSON list: the names of all tools,
and what each call answered. The server's settings are this process's environment variables.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    """Start the server, say hello, call the tools one after the other."""
    server = StdioServerParameters(command=str(Path(sys.executable).with_name("ctfd-mcp")), env=dict(os.environ))
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as session:
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        answers = [await session.call_tool(tool, arguments) for tool, arguments in json.load(sys.stdin)]
        json.dump([tools, *[json.loads(answer.content[0].text) for answer in answers]], sys.stdout)


asyncio.run(main())
