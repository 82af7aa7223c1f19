"""Asks the same of two gateways before the same service, and prints what an agent is given: `compared.py DOCUMENT
MISBEHAVING -- NAME COMMAND… -- NAME COMMAND…`. Each command is an MCP server on its input and output; the service is
started here and ended before the last question, which asks for a service that is away."""

import json
import subprocess
import sys

LENGTH = 900
CALLS = [
    ("A declared 404 with JSON", "getItem", {"id": "9"}),
    ("A declared 429 with `Retry-After: 7`", "askBusy", {}),
    ("418, which the document does not have", "askTeapot", {}),
    ("200 with a login page, where JSON was promised", "askPage", {}),
    ("200 with `{\"ok\": false}`", "askNo", {}),
    ("A result of 2.3 MB", "listItems", {}),
]
AWAY = ("A service that is away", "getItem", {"id": "9"})


class Gateway:
    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.id = 0
        info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "compared", "version": "1"}}
        self.ask("initialize", info)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.tools = {plain(tool["name"]): tool for tool in self.ask("tools/list", {})["result"]["tools"]}

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.id += 1
        self.send({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                sys.exit(f"{self.name} has ended")
            message = json.loads(line)
            if message.get("id") == self.id:
                return message

    def call(self, operation, arguments):
        name = next(tool["name"] for known, tool in self.tools.items() if known.endswith(plain(operation)))
        return self.ask("tools/call", {"name": name, "arguments": arguments})


def plain(name):
    return name.replace("_", "").lower()


def shown(answer):
    """What a host gives a model: whether it is an error, the texts, and the structured content where there is one."""
    if "error" in answer:
        return "protocol error: " + json.dumps(answer["error"])
    result = answer["result"]
    lines = ["isError: " + json.dumps(result.get("isError", False))]
    for block in result.get("content", []):
        lines.append(block.get("text", json.dumps(block)))
    if result.get("structuredContent") is not None:
        lines.append("structuredContent: " + json.dumps(result["structuredContent"]))
    return "\n".join(cut(line) for line in lines)


def cut(line):
    return line if len(line) <= LENGTH else f"{line[:300]} … ({len(line)} characters)"


def main():
    document, service, *rest = sys.argv[1:]
    service = subprocess.Popen([sys.executable, service, document], stdout=subprocess.PIPE)
    url = service.stdout.readline().decode().strip()
    try:
        compare(service, url, rest)
    finally:
        service.kill()


def compare(service, url, rest):
    gateways, command = [], []
    for word in rest[1:] + ["--"]:
        if word != "--":
            command.append(word)
            continue
        gateways.append(Gateway(command[0], command[1:]))
        command = []
    for what, operation, arguments in CALLS + [AWAY]:
        if (what, operation, arguments) == AWAY:
            service.kill()
            service.wait()
        print(f"## {what}\n")
        for gateway in gateways:
            text = shown(gateway.call(operation, arguments)).replace(url, "http://service")
            print(f"**{gateway.name}**\n\n```text\n{text}\n```\n")
    for gateway in gateways:
        gateway.process.terminate()
        gateway.process.wait()


main()
