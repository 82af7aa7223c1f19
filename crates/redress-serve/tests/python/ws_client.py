"""Holds 100 streams and 1,000 calls on one WebSocket, with aborts and calls in both directions.

Run by the Rust test beside it: ws_client.py ws://host:port/ws
"""

import asyncio
import json
import sys
from collections import Counter

import websockets

STREAMS, CALLS, BACK, ITEMS = 100, 1000, 20, 50


def message(sort, id, payload):
    return json.dumps({"type": sort, "id": id, "payload": payload})


def requests():
    for n in range(STREAMS):
        if n % 10 == 0:
            yield f"endless-{n}", "feed.endless", {}
        else:
            yield f"stream-{n}", "feed.count", {"count": ITEMS}
    for n in range(CALLS):
        if n % 10 == 0:
            yield f"never-{n}", "test.never", {}
        else:
            yield f"call-{n}", "math.double", {"n": n}
    for n in range(BACK):
        yield f"back-{n}", "test.ask", {"n": n}


async def write(socket):
    for id, operation, input in requests():
        await socket.send(message("call.requested", id, {"operation": operation, "input": input}))
    for id, _, _ in requests():
        if id.startswith(("endless", "never")):
            await socket.send(message("call.aborted", id, {}))


async def read(socket):
    items, ends = Counter(), {}
    while len(ends) < STREAMS + CALLS + BACK:
        text = await asyncio.wait_for(socket.recv(), 30)
        assert isinstance(text, str), "a text message is answered in kind"
        told = json.loads(text)
        sort, id, payload = told["type"], told["id"], told["payload"]
        if sort == "call.requested":
            assert id.startswith("srv-") and payload["operation"] == "client.add", told
            await socket.send(message("call.responded", id, {"output": payload["input"]["n"] + 1}))
            continue
        assert id not in ends, f"{id}: {sort} after {ends.get(id)}"
        if "seq" in payload:
            items[id] += 1
            assert payload["seq"] == items[id], told
            if id.startswith("stream"):
                assert payload["output"] == payload["seq"] - 1, told
            continue
        name, n = id.split("-")
        if name == "call":
            assert payload == {"output": int(n) * 2}, told
        if name == "back":
            assert payload == {"output": int(n) + 1}, told
        ends[id] = sort
    return items, ends


async def main(url):
    async with websockets.connect(url) as socket:
        writing = asyncio.create_task(write(socket))
        items, ends = await read(socket)
        await writing
    sorts = Counter((id.split("-")[0], sort) for id, sort in ends.items())
    assert all(items[id] == ITEMS for id in ends if id.startswith("stream")), items
    print(
        f"{sorts['stream', 'call.completed']} streams completed, {sorts['endless', 'call.aborted']} aborted, "
        f"{sorts['call', 'call.responded']} calls answered, {sorts['never', 'call.aborted']} aborted, "
        f"{sorts['back', 'call.responded']} calls back"
    )


asyncio.run(main(sys.argv[1]))
