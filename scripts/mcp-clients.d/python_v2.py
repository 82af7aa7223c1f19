"""Makes the calls with version 2 of the Python SDK: `python_v2.py CALLS http URL MODE` or `… CALLS stdio COMMAND MODE`.

MODE is `legacy`, or `auto`, which is the library's default. Prints what the caller got, one JSON object a line.
"""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters


async def main(calls: str, over: str, server: str, mode: str) -> None:
    at = server if over == "http" else StdioServerParameters(command=server, args=["mcp"])
    async with Client(at, mode=mode, read_timeout_seconds=10) as client:

        def told(call: str, **line: object) -> None:
            print(json.dumps({"call": call, "version": client.protocol_version, **line}), flush=True)

        listed = await client.list_tools()
        told("tools/list", result=listed.model_dump(mode="json", by_alias=True, exclude_none=True))
        for call in json.load(open(calls, encoding="utf-8"))["calls"]:
            try:
                result = await client.call_tool(call["tool"], call["arguments"])
                told(call["name"], result=result.model_dump(mode="json", by_alias=True, exclude_none=True))
            except MCPError as raised:
                told(call["name"], raised=raised.error.model_dump(mode="json"))


asyncio.run(main(*sys.argv[1:]))
