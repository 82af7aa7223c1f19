"""Uses the service through the gateway with the official MCP client, and says what is not as it should be."""

import asyncio
import json
import sys

from mcp.client import Client

NAMES = {}


async def call(client, end, **arguments):
    """The structured content of a success, or the envelope of a failure."""
    result = await client.call_tool(NAMES[end], arguments)
    if result.is_error:
        return (result.meta or {})["dev.redress/error"]
    return json.loads(result.content[0].text)


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"gateway-check: {what}: {found!r} instead of {wanted!r}")


async def main(url):
    async with Client(url) as client:
        listed = await client.list_tools()
        for tool in listed.tools:
            for end in ("read_note", "make_note", "ask_busy", "ask_page", "count_tokens"):
                if tool.name.endswith(end):
                    NAMES[end] = tool.name
        expect("tools", len(NAMES), 5)
        read = next(tool for tool in listed.tools if tool.name == NAMES["read_note"])
        expect("the failures of a tool are in its description", "HTTP_404" in read.description, True)

        expect("a success", await call(client, "read_note", note_id=1), {"title": "first", "text": "hello"})
        missing = await call(client, "read_note", note_id=9)
        expect("a declared failure", (missing["code"], missing["http"]), ("HTTP_404", 404))
        expect("its body", missing["details"]["body"], {"detail": "there is no such note"})

        expect("a mutation", await call(client, "make_note", title="second"), {"title": "second", "text": ""})
        twice = await call(client, "make_note", title="second")
        expect("a conflict", (twice["code"], twice["details"]["body"]["detail"]), ("HTTP_409", "there is a note of that title"))
        unfit = await call(client, "make_note", title="x" * 41)
        expect("what the document forbids is not sent", unfit["code"], "INVALID_INPUT")

        busy = await call(client, "ask_busy")
        expect("when to come again", (busy["code"], busy["retry_after_ms"], busy["retry"]), ("HTTP_429", 11000, "safe"))
        page = await call(client, "ask_page")
        expect("a page is no success", (page["code"], page["details"]["reason"]), ("UPSTREAM_UNDECLARED", "content_type"))
        expect("what it said", page["details"]["excerpt"], "Please sign in")

        # A token lasts five seconds: calls for longer than that need a second one, and none of them fails.
        for _ in range(14):
            expect("while tokens are exchanged", (await call(client, "read_note", note_id=1))["title"], "first")
            await asyncio.sleep(0.5)
        tokens = await call(client, "count_tokens")
        expect("tokens are shared, and exchanged before they expire", 2 <= tokens <= 4, True)


asyncio.run(main(sys.argv[1]))
