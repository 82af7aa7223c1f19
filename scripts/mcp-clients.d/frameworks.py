"""Makes the calls with frameworks for agents: `frameworks.py FRAMEWORK CALLS (http URL|stdio COMMAND) FILE …`.

Each framework's own MCP client lists the tools and makes the calls, as its agent would, and what goes into the file of a
place is what its model would be shown there: the descriptions, and the text of each ending. No model is asked. One process goes to all
places, since to load a framework takes longer than all that is done with it.
"""

import asyncio
import json
import sys

CALLS = json.load(open(sys.argv[2], encoding="utf-8"))["calls"]
# The place at which the calls are made, and the file that what is seen there goes into.
over = at = seen = None


class NotSent(Exception):
    """The framework looks a tool up in its list, and asks no server for one that is not there."""


def told(call: str, **line: object) -> None:
    print(json.dumps({"call": call, **line}, default=str), file=seen, flush=True)


async def made(run) -> None:
    """Makes each call; `run` gives the text that the model is shown, or raises what the framework would show of it."""
    for call in CALLS:
        try:
            told(call["name"], shown=await run(call["tool"], call["arguments"]))
        except NotSent:
            told(call["name"], not_sent=True)
        except Exception as raised:
            told(call["name"], shown=f"{type(raised).__name__}: {raised}", raised=True)


def text_of(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


async def langchain() -> None:
    from langchain_mcp_adapters.client import MultiServerMCPClient

    http = {"transport": "streamable_http", "url": at}
    stdio = {"transport": "stdio", "command": at, "args": ["mcp"]}
    client = MultiServerMCPClient({"r": http if over == "http" else stdio})
    tools = {tool.name: tool for tool in await client.get_tools()}
    told("tools/list", described={name: tool.description for name, tool in tools.items()})

    async def run(name, arguments):
        if name not in tools:
            raise NotSent
        message = await tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
        content = message.content
        return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)

    await made(run)


async def openai_agents() -> None:
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
    from agents.mcp.util import MCPUtil
    from agents.tool_context import ToolContext

    if over == "http":
        server = MCPServerStreamableHttp(params={"url": at})
    else:
        server = MCPServerStdio(params={"command": at, "args": ["mcp"]})
    async with server:
        listed = await server.list_tools()
        tools = {tool.name: MCPUtil.to_function_tool(tool, server, False) for tool in listed}
        told("tools/list", described={name: tool.description for name, tool in tools.items()})

        async def run(name, arguments):
            if name not in tools:
                raise NotSent
            given = json.dumps(arguments)
            context = ToolContext(context=None, tool_name=name, tool_call_id="1", tool_arguments=given)
            return text_of(await tools[name].on_invoke_tool(context, given))

        await made(run)


async def pydantic_ai() -> None:
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    if over == "http":
        toolset = MCPToolset(at)
    else:
        from fastmcp.client.transports import StdioTransport

        toolset = MCPToolset(StdioTransport(command=at, args=["mcp"]))
    described: dict = {}

    async def run(name, arguments):
        seen = []

        def model(messages, info):
            described.update({tool.name: tool.description for tool in info.function_tools})
            parts = [part for part in messages[-1].parts if getattr(part, "tool_name", None) == name]
            if parts:
                seen.extend(text_of(part.model_response_str() if hasattr(part, "model_response_str") else part.model_response()) for part in parts)
                return ModelResponse(parts=[TextPart("done")])
            return ModelResponse(parts=[ToolCallPart(name, arguments)])

        await Agent(FunctionModel(model), toolsets=[toolset]).run("go")
        return "\n".join(seen)

    await made(run)
    told("tools/list", described=described)


async def strands() -> None:
    from mcp import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamablehttp_client
    from strands.tools.mcp import MCPClient

    def transport():
        if over == "http":
            return streamablehttp_client(at)
        return stdio_client(StdioServerParameters(command=at, args=["mcp"]))

    with MCPClient(transport) as client:
        tools = {tool.tool_name: tool for tool in client.list_tools_sync()}
        told("tools/list", described={name: tool.tool_spec["description"] for name, tool in tools.items()})

        async def run(name, arguments):
            if name not in tools:
                raise NotSent
            found = await asyncio.to_thread(client.call_tool_sync, tool_use_id="1", name=name, arguments=arguments)
            return "".join(block.get("text", "") for block in found["content"])

        await made(run)


async def google_adk() -> None:
    from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams, StreamableHTTPConnectionParams
    from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
    from mcp import StdioServerParameters

    if over == "http":
        parameters = StreamableHTTPConnectionParams(url=at)
    else:
        parameters = StdioConnectionParams(server_params=StdioServerParameters(command=at, args=["mcp"]))
    toolset = McpToolset(connection_params=parameters)
    tools = {tool.name: tool for tool in await toolset.get_tools()}
    told("tools/list", described={name: tool._get_declaration().description for name, tool in tools.items()})

    class Context:
        state: dict = {}
        function_call_id = "1"

        def __getattr__(self, _):
            return None

    async def run(name, arguments):
        if name not in tools:
            raise NotSent
        return text_of(await tools[name].run_async(args=arguments, tool_context=Context()))

    await made(run)
    await toolset.close()


async def autogen() -> None:
    from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams, StreamableHttpServerParams

    parameters = StreamableHttpServerParams(url=at) if over == "http" else StdioServerParams(command=at, args=["mcp"])
    async with McpWorkbench(parameters) as workbench:
        told("tools/list", described={tool["name"]: tool["description"] for tool in await workbench.list_tools()})

        async def run(name, arguments):
            return (await workbench.call_tool(name, arguments)).to_text()

        await made(run)


async def semantic_kernel() -> None:
    from semantic_kernel import Kernel
    from semantic_kernel.connectors.mcp import MCPStdioPlugin, MCPStreamableHttpPlugin
    from semantic_kernel.functions import KernelArguments

    plugin = MCPStreamableHttpPlugin(name="r", url=at) if over == "http" else MCPStdioPlugin(name="r", command=at, args=["mcp"])
    async with plugin:
        kernel = Kernel()
        functions = kernel.add_plugin(plugin).functions
        told("tools/list", described={name: function.description for name, function in functions.items()})

        async def run(name, arguments):
            if name not in functions:
                raise NotSent
            result = await functions[name].invoke(kernel, KernelArguments(**arguments))
            return "".join(str(one) for one in result.value)

        await made(run)


async def llama_index() -> None:
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    client = BasicMCPClient(at) if over == "http" else BasicMCPClient(at, args=["mcp"])
    tools = {tool.metadata.name: tool for tool in await McpToolSpec(client=client).to_tool_list_async()}
    told("tools/list", described={name: tool.metadata.description for name, tool in tools.items()})

    async def run(name, arguments):
        if name not in tools:
            raise NotSent
        return (await tools[name].acall(**arguments)).content

    await made(run)


FRAMEWORKS = (langchain, openai_agents, pydantic_ai, strands, google_adk, autogen, semantic_kernel, llama_index)
framework = next(one for one in FRAMEWORKS if one.__name__ == sys.argv[1])
places = iter(sys.argv[3:])
for over, at, into in zip(places, places, places):
    with open(into, "w", encoding="utf-8") as seen:
        asyncio.run(framework())
