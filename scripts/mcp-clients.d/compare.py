"""Holds what the clients got against what the example answers: `compare.py FOLDER [--write]`.

FOLDER has one file of JSON lines a run, `CLIENT.MODE.PLACE.jsonl`. Every failure has to reach its caller with
every member that `calls.json` expects, in at least one place. The places are the table of docs/mcp-clients.md.
"""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

KEPT = Path(__file__).parent
PAGE = KEPT.parent.parent / "docs" / "mcp-clients.md"
CALLS = json.loads((KEPT / "calls.json").read_text())["calls"]
ERROR, FAILURES = "dev.redress/error", "dev.redress/failures"
LEGACY, MODERN = "2025-11-25", "2026-07-28"
PLACES = {"http": "HTTP", "stdio": "stdio", "union": "HTTP, union"}
# The Inspector's command looks a tool up in the list itself, and asks no server for one that is not there.
ASKS_ONLY_FOR_LISTED_TOOLS = {"inspector"}


@dataclass
class Client:
    key: str
    name: str
    modes: dict[str, str]


def pinned(requirements: str, package: str) -> str:
    text = (KEPT / "requirements" / f"{requirements}.txt").read_text()
    return re.search(rf"^{package}==(\S+)$", text, re.MULTILINE)[1]


def clients() -> list[Client]:
    npm = json.loads((KEPT / "package.json").read_text())["dependencies"]
    rmcp = re.search(r'name = "rmcp"\nversion = "([^"]+)"', (KEPT.parent.parent / "Cargo.lock").read_text())[1]
    eras = {"legacy": LEGACY, "auto": MODERN}
    return [
        Client("typescript_v1", f"TypeScript SDK {npm['@modelcontextprotocol/sdk']}", {"legacy": LEGACY}),
        Client("typescript_v2", f"TypeScript SDK {npm['@modelcontextprotocol/client']}", eras),
        Client("python_v1", f"Python SDK {pinned('python_v1', 'mcp')}", {"legacy": LEGACY}),
        Client("python_v2", f"Python SDK {pinned('python_v2', 'mcp')}", eras),
        Client("fastmcp_v4", f"FastMCP {pinned('fastmcp_v4', 'fastmcp')}", eras),
        Client("rmcp", f"rmcp {rmcp}", {"legacy": LEGACY, "modern": MODERN}),
        Client(
            "inspector",
            f"Inspector CLI {npm['@modelcontextprotocol/inspector']}",
            {"legacy": LEGACY, "modern": MODERN},
        ),
    ]


def holds(found: object, expected: dict) -> bool:
    """Whether every expected member is there, as it is expected."""
    return isinstance(found, dict) and all(found.get(name) == value for name, value in expected.items())


def text_of(result: dict) -> str:
    return next((block["text"] for block in result.get("content", []) if block.get("type") == "text"), "")


def read(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def sentence_and_envelope(text: str) -> object:
    return read(text.partition("\n")[2])


def places(line: dict, expected: dict) -> list[str]:
    """Where all of the expected envelope reached the caller."""
    result, raised = line.get("result"), line.get("raised")
    if result is not None:
        if result.get("isError") is not True:
            return []
        found = {
            "text": sentence_and_envelope(text_of(result)),
            "`_meta`": (result.get("_meta") or {}).get(ERROR),
            "`structuredContent`": result.get("structuredContent"),
        }
    else:
        found = {"raised text": sentence_and_envelope(raised.get("message") or ""), "raised data": raised.get("data")}
    return [place for place, envelope in found.items() if holds(envelope, expected)]


def judge(client: Client, call: dict, line: dict) -> str | None:
    """What the table says of one call, or nothing if the caller did not get all of it."""
    if "output" in call:
        result = line.get("result") or {}
        found = {"text": read(text_of(result)), "`structuredContent`": result.get("structuredContent")}
        if result.get("isError") or any(value != call["output"] for value in found.values()):
            return None
        return ", ".join(found)
    if call["name"] == "unknown tool" and client.key in ASKS_ONLY_FOR_LISTED_TOOLS:
        return "not sent" if (line.get("raised") or {}).get("code") == "tool_not_found" else None
    found = places(line, call["envelope"])
    says = (line.get("raised") or {}).get("message") or ""
    # Where a host shows no more of a protocol error than its message, that has to be enough.
    if call["name"] == "unknown tool":
        if not all(word in says for word in call["message"]):
            return None
        found.insert(0, "raised text")
    return ", ".join(found) or None


def listed(line: dict) -> str | None:
    """What the table says of the list of tools."""
    tools = {tool["name"]: tool for tool in (line.get("result") or {}).get("tools", [])}
    get = tools.get("parts_get", {})
    codes = [failure.get("code") for failure in (get.get("_meta") or {}).get(FAILURES, [])]
    described = "Fails with: PART_MISSING (call parts_list), BEING_COUNTED (wait, retryable)." in get.get("description", "")
    if sorted(tools) != ["parts_get", "parts_list", "parts_order"] or not described:
        return None
    return "description, `_meta`" if codes == ["PART_MISSING", "BEING_COUNTED"] else None


def row(client: Client, mode: str, place: str, folder: Path, wrong: list[str]) -> str:
    path = folder / f"{client.key}.{mode}.{place}"
    run = f"{client.name}, {client.modes[mode]}, {PLACES[place]}"
    log = path.with_name(path.name + ".log")
    lines = {}
    for text in path.with_name(path.name + ".jsonl").read_text().splitlines():
        line = json.loads(text)
        lines[line["call"]] = line
        # The Inspector does not tell the version; it was told which era to speak.
        if line.get("version", client.modes[mode]) != client.modes[mode]:
            wrong.append(f"{run}: speaks {line['version']}")
    if len(lines) <= len(CALLS):
        wrong.append(f"{run}: the client says: {log.read_text()[-4000:]}")
    cells = []
    for name, cell in [("tools/list", listed)] + [(call["name"], lambda line, c=call: judge(client, c, line)) for call in CALLS]:
        said = cell(lines[name]) if name in lines else None
        if said is None:
            wrong.append(f"{run}: {name}: {json.dumps(lines.get(name))}")
        cells.append(said or "**lost**")
    return f"| {client.name} | {client.modes[mode]} | {PLACES[place]} | {' | '.join(cells)} |"


HEAD = """\
<!-- Made by `scripts/mcp-clients --write`; `scripts/mcp-clients` fails where a client shows anything else. -->
# What MCP clients show

The example [`tools`](../examples/tools.rs), called by real clients. A cell says where the caller found all of the
code, the hint, the retry advice and the next action: in the *text* of the result, in its `_meta["dev.redress/error"]` or
`structuredContent`, in the *raised text* (the message of an error or an exception) or in the *raised data* beside it.

"""

TAIL = """
- The failures before the call: the line `Fails with:` of each tool's description, and `_meta["dev.redress/failures"]`.
- The declared failure carries details and a call that the caller can make next, with its input; the invalid input a fix
  to apply; the timeout is of a mutation, so its retry advice is `unsafe`.
- *Union*: the server runs with `output_schema = "union"`, so that the schema of each tool admits the envelope, and a
  failure is `structuredContent` too.
- FastMCP raises the text of a failure and nothing else, unless told not to (`raise_on_error=False`).
- An unknown tool is a protocol error. *Not sent*: the Inspector looks the tool up in the list and asks no server for one
  that is not there. It does not tell which version was agreed on either, only which era it was told to speak.
"""


def page(folder: Path, wrong: list[str]) -> str:
    columns = ["client", "protocol", "over", "tools/list"] + [call["name"] for call in CALLS]
    rows = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for client in clients():
        rows += [row(client, mode, place, folder, wrong) for mode in client.modes for place in PLACES]
    return HEAD + "\n".join(rows) + "\n" + TAIL


def main(folder: str, *options: str) -> int:
    wrong: list[str] = []
    seen = page(Path(folder), wrong)
    for one in wrong:
        print(f"mcp-clients: {one}", file=sys.stderr)
    if wrong:
        return 1
    if "--write" in options:
        PAGE.write_text(seen)
    elif not PAGE.exists() or PAGE.read_text() != seen:
        print(seen)
        print("mcp-clients: docs/mcp-clients.md says something else; `scripts/mcp-clients --write` keeps the above", file=sys.stderr)
        return 1
    runs = sum(len(client.modes) for client in clients()) * len(PLACES)
    print(f"{len(clients())} clients, {runs} runs of {len(CALLS) + 1} requests")
    return 0


sys.exit(main(*sys.argv[1:]))
