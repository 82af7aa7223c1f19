"""FastMCP's `from_openapi` as its documentation has it, over its input and output: `fastmcp_server.py DOCUMENT`."""

import json
import sys

from fastmcp import FastMCP

with open(sys.argv[1]) as file:
    document = json.load(file)
FastMCP.from_openapi(document).run(transport="stdio", show_banner=False, log_level="CRITICAL")
