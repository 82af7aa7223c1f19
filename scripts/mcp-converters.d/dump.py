"""Prints the tools of commands as one JSON list: `dump.py COMMAND…`, each a command that speaks MCP over stdio."""

import json
import shlex
import subprocess
import sys

tools = []
for command in sys.argv[1:]:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    ran = subprocess.run(shlex.split(command), input=json.dumps(asked) + "\n", capture_output=True, text=True, timeout=60)
    # An example may say something before it serves.
    answers = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    found = next((answer["result"]["tools"] for answer in answers if answer.get("id") == 1), None)
    if not found:
        sys.exit(f"{command}: no tools: {ran.stderr}")
    known = {(tool["name"], json.dumps(tool["inputSchema"])) for tool in tools}
    tools += [tool for tool in found if (tool["name"], json.dumps(tool["inputSchema"])) not in known]
print(json.dumps(tools))
