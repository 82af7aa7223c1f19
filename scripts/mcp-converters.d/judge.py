"""Fails unless every framework has converted every tool whole: `judge.py FILE…`, each what `convert.py` has printed."""

import json
import sys

EXPECTED = 11

lines = [json.loads(line) for path in sys.argv[1:] for line in open(path, encoding="utf-8")]
wrong = [f"{line['framework']} {line['version']}: {tool}: {', '.join(lost)}" for line in lines for tool, lost in line["lost"].items()]
if len(lines) != EXPECTED:
    wrong.append(f"{len(lines)} converters of {EXPECTED} have said anything")
for one in wrong:
    print(f"mcp-converters: {one}", file=sys.stderr)
if wrong:
    sys.exit(1)
print(f"{len(lines)} converters, {lines[0]['tools']} tools each: " + ", ".join(f"{line['framework']} {line['version']}" for line in lines))
