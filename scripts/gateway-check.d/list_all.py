"""Lists every tool of a server with the official MCP client for Python, page by page: `list_all.py URL COUNT`."""

import asyncio
import sys

from mcp.client import Client


async def main(url, count):
    async with Client(url, read_timeout_seconds=120) as client:
        names, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            names.extend(tool.name for tool in page.tools)
            cursor = page.next_cursor
            if cursor is None:
                break
    if len(set(names)) < int(count):
        sys.exit(f"gateway-check: the Python client lists {len(set(names))} tools instead of at least {count}")


asyncio.run(main(*sys.argv[1:]))
