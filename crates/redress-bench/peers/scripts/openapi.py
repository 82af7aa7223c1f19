"""FastMCP with the operations of one OpenAPI document (JSON), over its input and output."""

import json
import sys

import httpx2
from fastmcp import FastMCP

with open(sys.argv[1], "rb") as file:
    document = json.load(file)
mcp = FastMCP.from_openapi(document, client=httpx2.AsyncClient(base_url="http://127.0.0.1:9"))
mcp.run(transport="stdio", show_banner=False, log_level="ERROR")
