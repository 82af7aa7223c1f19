"""Makes the calls with FastMCP's client as it is by default: `fastmcp_v4.py CALLS http URL MODE` or `… stdio COMMAND MODE`.

MODE is `legacy`, or `auto`, which is the library's default. A failed tool raises, and the text of what is raised
is all that most programs look at. Prints what the caller got, one JSON object a line.
"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from mcp import MCPError


async def main(calls: str, over: str, server: str, mode: str) -> None:
    at = server if over == "http" else StdioTransport(command=server, args=["mcp"])
    async with Client(at, mode=mode, timeout=10) as client:

        def told(call: str, **line: object) -> None:
            print(json.dumps({"call": call, "version": client.protocol_version, **line}), flush=True)

        listed = await client.list_tools_mcp()
        told("tools/list", result=listed.model_dump(mode="json", by_alias=True, exclude_none=True))
        for call in json.load(open(calls, encoding="utf-8"))["calls"]:
            try:
                result = await client.call_tool(call["tool"], call["arguments"])
                content = [block.model_dump(mode="json", by_alias=True) for block in result.content]
                told(call["name"], result={"content": content, "structuredContent": result.structured_content})
            except ToolError as raised:
                told(call["name"], raised={"message": str(raised)})
            except MCPError as raised:
                told(call["name"], raised=raised.error.model_dump(mode="json"))


asyncio.run(main(*sys.argv[1:]))
