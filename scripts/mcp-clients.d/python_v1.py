"""Makes the calls with version 1 of the Python SDK: `python_v1.py CALLS http URL legacy` or `… CALLS stdio COMMAND legacy`.

The library speaks one era only. Prints what the caller got, one JSON object a line.
"""

import asyncio
import json
import sys
from datetime import timedelta

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def main(calls: str, over: str, server: str, _mode: str) -> None:
    if over == "http":
        transport = streamable_http_client(server)
    else:
        transport = stdio_client(StdioServerParameters(command=server, args=["mcp"]))
    async with transport as (read, write, *_):
        async with ClientSession(read, write, read_timeout_seconds=timedelta(seconds=10)) as session:
            version = (await session.initialize()).protocolVersion

            def told(call: str, **line: object) -> None:
                print(json.dumps({"call": call, "version": version, **line}), flush=True)

            listed = await session.list_tools()
            told("tools/list", result=listed.model_dump(mode="json", by_alias=True, exclude_none=True))
            for call in json.load(open(calls, encoding="utf-8"))["calls"]:
                try:
                    result = await session.call_tool(call["tool"], call["arguments"])
                    told(call["name"], result=result.model_dump(mode="json", by_alias=True, exclude_none=True))
                except McpError as raised:
                    told(call["name"], raised=raised.error.model_dump(mode="json"))


asyncio.run(main(*sys.argv[1:]))
