"""Holds what the clients got against what the example answers: `compare.py FOLDER [--write]`.

FOLDER has one file of JSON lines a run, `CLIENT.MODE.PLACE.jsonl`. Every failure has to reach its caller with
every member that `calls.json` expects: of the envelope for programs, and of what a model is told in texts. The places are
the table of docs/mcp-clients.md.
"""

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

KEPT = Path(__file__).parent
PAGE = KEPT.parent.parent / "docs" / "mcp-clients.md"
CALLS = json.loads((KEPT / "calls.json").read_text())["calls"]
ERROR, FAILURES = "dev.redress/error", "dev.redress/failures"
LEGACY, MODERN = "2025-11-25", "2026-07-28"
PLACES = {"http": "HTTP", "stdio": "stdio", "union": "HTTP, union", "bridge": "stdio to HTTP"}
# The Inspector's command looks a tool up in the list itself, and asks no server for one that is not there.
ASKS_ONLY_FOR_LISTED_TOOLS = {"inspector"}


@dataclass
class Client:
    key: str
    name: str
    modes: dict[str, str]
    # A framework for agents: what is looked at is what it hands its model, and it speaks the version that its SDK does.
    shows_a_model: bool = False
    places: tuple[str, ...] = ("http", "stdio", "union")
    # What the framework does by itself, by the name of the call, with what has to be in its words.
    itself: dict[str, tuple[str, str]] = field(default_factory=dict)


def pinned(requirements: str, package: str) -> str:
    text = (KEPT / "requirements" / f"{requirements}.txt").read_text()
    return re.search(rf"^{package}==(\S+)$", text, re.MULTILINE)[1]


def clients() -> list[Client]:
    npm = json.loads((KEPT / "package.json").read_text())["dependencies"]
    agents = lambda key, name, package, env, itself=None: Client(
        key, f"{name} {pinned(env, package)}", {"agent": "its SDK's"}, True, ("http", "stdio"), itself or {}
    )
    in_node = lambda key, name, package, itself=None: Client(
        key, f"{name} {npm[package]}", {"agent": "its SDK's"}, True, ("http", "stdio"), itself or {}
    )
    bridges = lambda key, name: Client(key, name, {"legacy": LEGACY}, places=("bridge",))
    rmcp = re.search(r'name = "rmcp"\nversion = "([^"]+)"', (KEPT.parent.parent / "Cargo.lock").read_text())[1]
    eras = {"legacy": LEGACY, "auto": MODERN}
    return [
        Client("typescript_v1", f"TypeScript SDK {npm['@modelcontextprotocol/sdk']}", {"legacy": LEGACY}),
        Client("typescript_v2", f"TypeScript SDK {npm['@modelcontextprotocol/client']}", eras),
        Client("python_v1", f"Python SDK {pinned('python_v1', 'mcp')}", {"legacy": LEGACY}),
        Client("python_v2", f"Python SDK {pinned('python_v2', 'mcp')}", eras),
        Client("fastmcp_v4", f"FastMCP {pinned('python_v2', 'fastmcp')}", eras),
        Client("rmcp", f"rmcp {rmcp}", {"legacy": LEGACY, "modern": MODERN}),
        Client(
            "inspector",
            f"Inspector CLI {npm['@modelcontextprotocol/inspector']}",
            {"legacy": LEGACY, "modern": MODERN},
            # It starts a process for each call, and its library is above in every place.
            places=("http", "stdio"),
        ),
        agents("langchain", "LangChain MCP adapters", "langchain-mcp-adapters", "python_v1"),
        agents("openai_agents", "OpenAI Agents", "openai-agents", "python_v1"),
        agents(
            "pydantic_ai", "Pydantic AI", "pydantic-ai-slim", "python_v1",
            {"unknown tool": ("not sent", "Unknown tool name: 'parts_gett'")},
        ),
        agents("strands", "Strands Agents", "strands-agents", "python_v1"),
        agents("google_adk", "Google ADK", "google-adk", "python_v1"),
        agents("autogen", "AutoGen", "autogen-ext", "older"),
        agents("semantic_kernel", "Semantic Kernel", "semantic-kernel", "older"),
        agents("llama_index", "LlamaIndex MCP tools", "llama-index-tools-mcp", "python_v2"),
        in_node("vercel", "Vercel AI SDK", "ai", {"unknown tool": ("not sent", "unavailable tool 'parts_gett'")}),
        in_node("openai_agents_js", "OpenAI Agents JS", "@openai/agents"),
        in_node(
            "gemini", "Gemini CLI", "@google/gemini-cli",
            {
                "invalid input": ("refused by itself", "params/shelf must be equal to one of the allowed values"),
                "unknown tool": ("not sent", "not found. Did you mean one of"),
            },
        ),
        bridges("mcp_remote", f"mcp-remote {npm['mcp-remote']}"),
        bridges("mcp_proxy", f"mcp-proxy {pinned('python_v1', 'mcp-proxy')}"),
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


def sentence_and_told(text: str) -> object:
    return read(text.partition("\n")[2])


def unquoted(text: str) -> str:
    """What stands in a text that has been quoted once more."""
    for quoted, plain in (("\\\\", "\0"), ('\\"', '"'), ("\\'", "'"), ("\\n", "\n"), ("\0", "\\")):
        text = text.replace(quoted, plain)
    return text


def told_in(shown: str) -> object:
    """What is told of a failure in a text that a framework has made of it, however often it has quoted it."""
    for _ in range(4):
        start = shown.find('{"code":')
        if start >= 0:
            try:
                return json.JSONDecoder().raw_decode(shown[start:])[0]
            except ValueError:
                pass
        shown = unquoted(shown)
    return None


def places(line: dict, call: dict) -> list[str]:
    """Where all that is expected reached the caller."""
    expected, told = call["envelope"], call.get("told", call["envelope"])
    result, raised = line.get("result"), line.get("raised")
    if result is not None:
        if result.get("isError") is not True:
            return []
        found = {
            "text": sentence_and_told(text_of(result)),
            "`_meta`": (result.get("_meta") or {}).get(ERROR),
            "`structuredContent`": result.get("structuredContent"),
        }
    else:
        found = {"raised text": sentence_and_told(raised.get("message") or ""), "raised data": raised.get("data")}
    return [place for place, held in found.items() if holds(held, told if "text" in place else expected)]


def shown(client: Client, call: dict, line: dict) -> str | None:
    """What the table says of a call of a framework: what its model was shown of the ending."""
    if line.get("not_sent"):
        return "not sent" if call["name"] == "unknown tool" else None
    text = line.get("shown")
    if not isinstance(text, str):
        return None
    if call["name"] in client.itself:
        says, word = client.itself[call["name"]]
        return says if word in text else None
    if "output" in call:
        plain = text.replace('\\"', '"')
        return "text" if all(json.dumps(value) in plain or repr(value) in plain for value in call["output"].values()) else None
    told = call.get("told") or {}
    if not told:
        # A protocol error, of which a framework shows the message at most.
        return "text" if all(word in text for word in call["message"]) else None
    return "text" if holds(told_in(text), told) else None


def judge(client: Client, call: dict, line: dict) -> str | None:
    """What the table says of one call, or nothing if the caller did not get all of it."""
    if client.shows_a_model:
        return shown(client, call, line)
    if "output" in call:
        result = line.get("result") or {}
        found = {"text": read(text_of(result)), "`structuredContent`": result.get("structuredContent")}
        if result.get("isError") or any(value != call["output"] for value in found.values()):
            return None
        return ", ".join(found)
    if call["name"] == "unknown tool" and client.key in ASKS_ONLY_FOR_LISTED_TOOLS:
        return "not sent" if (line.get("raised") or {}).get("code") == "tool_not_found" else None
    found = places(line, call)
    says = (line.get("raised") or {}).get("message") or ""
    # Where a host shows no more of a protocol error than its message, that has to be enough.
    if call["name"] == "unknown tool":
        # A bridge may make a result of it.
        result = line.get("result") or {}
        if result.get("isError") is True and all(word in text_of(result) for word in call["message"]):
            return "text"
        if not all(word in says for word in call["message"]):
            return None
        found.insert(0, "raised text")
    return ", ".join(found) or None


def listed(line: dict) -> str | None:
    """What the table says of the list of tools."""
    if "described" in line:
        told = line["described"]
        described = "Fails with: PART_MISSING (call parts_list), BEING_COUNTED (wait, retryable)." in told.get("parts_get", "")
        return "description" if described and sorted(told) == ["parts_get", "parts_list", "parts_order"] else None
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
    # A framework goes to all places in one process.
    logs = [path.with_name(f"{client.key}.{mode}.log"), path.with_name(path.name + ".log")]
    log = next((log for log in logs if log.exists()), logs[0])
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
- *Stdio to HTTP*: the TypeScript SDK 1 starts a bridge over stdio, which speaks to the server over HTTP.
- Gemini CLI runs whole, with a model that is a script. It checks arguments against the schema itself, so that an invalid input never leaves it; its own words name the field. It shows
  a model `_meta` as well as the text, unless `mcp.error_meta = false`.
- Of a framework for agents it is looked at what its model would be shown, which is text alone; which version it speaks is its SDK's matter.
- An unknown tool is a protocol error, of which mcp-proxy makes a failed result with the same message. *Not sent*: the client looks the tool up in the list and asks no server for one
  that is not there. The Inspector does not tell which version was agreed on either, only which era it was told to speak.
"""


def page(folder: Path, wrong: list[str]) -> str:
    columns = ["client", "protocol", "over", "tools/list"] + [call["name"] for call in CALLS]
    rows = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for client in clients():
        rows += [row(client, mode, place, folder, wrong) for mode in client.modes for place in client.places]
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
    runs = sum(len(client.modes) * len(client.places) for client in clients())
    print(f"{len(clients())} clients, {runs} runs of {len(CALLS) + 1} requests")
    return 0


sys.exit(main(*sys.argv[1:]))
