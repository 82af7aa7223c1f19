"""FastMCP with the tools that every server in the table has. Says its address on the first line."""

import socket
import sys

import uvicorn
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError

mcp = FastMCP("bench")


@mcp.tool
def bench_greet(name: str, times: int) -> dict:
    """Greet a person."""
    return {"message": f"Hello {name}, {times} times"}


@mcp.tool
def bench_find(name: str, times: int) -> dict:
    """Find a person who is never there."""
    raise ToolError(f"nobody is called {name}")


@mcp.tool
def bench_total(orders: list[dict]) -> dict:
    """Add up what orders cost."""
    return {"total": sum(order["price"] * order["quantity"] for order in orders)}


def filler() -> dict:
    """Filler."""
    return {}


for number in range(3, int(sys.argv[1])):
    mcp.tool(filler, name=f"filler_operation_{number}")

listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(128)
print("%s:%d" % listener.getsockname(), flush=True)
app = mcp.http_app(path="/mcp", stateless_http=True, json_response=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
