"""Gives every advertised tool to the converters of frameworks, and tells what a model would not be shown.

`convert.py TOOLS FRAMEWORK…`: TOOLS is a JSON list of tools, as `tools/list` has them. One line of JSON is printed for each
framework: how many tools it has converted, and what was lost. A converter is the framework's own code, called as its
MCP client calls it, without a server.
"""

import json
import sys
from importlib.metadata import version

import mcp.types

# What a converter drops by its own doing, whatever it is given: not ours to mend.
OWN_LOSSES: dict[str, set[str]] = {}
# Keywords at the root of a schema beside which a converter drops all properties by its own doing.
ROOT_COMPOSED = {"langchain_google_genai": {"allOf", "if"}, "autogen": {"allOf"}}


def tool_of(listed: dict) -> mcp.types.Tool:
    return mcp.types.Tool.model_validate(listed)


def langchain(listed):
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langchain_mcp_adapters.tools import convert_mcp_tool_to_langchain_tool

    connection = {"transport": "stdio", "command": "none", "args": []}
    tool = convert_mcp_tool_to_langchain_tool(None, tool_of(listed), connection=connection)
    return convert_to_openai_tool(tool)["function"]["parameters"]


def langchain_google_genai(listed):
    from langchain_google_genai._function_utils import convert_to_genai_function_declarations
    from langchain_mcp_adapters.tools import convert_mcp_tool_to_langchain_tool

    connection = {"transport": "stdio", "command": "none", "args": []}
    tool = convert_mcp_tool_to_langchain_tool(None, tool_of(listed), connection=connection)
    made = convert_to_genai_function_declarations([tool])
    made = made[0] if isinstance(made, list) else made
    declaration = made.function_declarations[0]
    found = declaration.parameters or declaration.parameters_json_schema
    return found if isinstance(found, dict) else json.loads(found.model_dump_json(exclude_none=True))


def openai_agents(listed, strict=False):
    from agents.mcp.util import MCPUtil

    class Server:
        name = "s"
        tool_meta_resolver = None

        def __getattr__(self, _):
            return None

        def _get_needs_approval_for_tool(self, *_):
            return False

        def _get_failure_error_function(self, *_):
            return None

    return MCPUtil.to_function_tool(tool_of(listed), Server(), convert_schemas_to_strict=strict).params_json_schema


def openai_agents_strict(listed):
    return openai_agents(listed, strict=True)


def pydantic_ai_openai(listed):
    from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer

    return OpenAIJsonSchemaTransformer(listed["inputSchema"], strict=None).walk()


def pydantic_ai_google(listed):
    from pydantic_ai.profiles.google import GoogleJsonSchemaTransformer

    return GoogleJsonSchemaTransformer(listed["inputSchema"], strict=None).walk()


def strands(listed):
    from strands.tools.mcp.mcp_agent_tool import MCPAgentTool

    return MCPAgentTool(tool_of(listed), None).tool_spec["inputSchema"]["json"]


def google_adk(listed):
    from google.adk.tools._gemini_schema_util import _to_gemini_schema

    return json.loads(_to_gemini_schema(listed["inputSchema"]).model_dump_json(exclude_none=True))


def autogen(listed):
    from autogen_core.utils import schema_to_pydantic_model

    return schema_to_pydantic_model(listed["inputSchema"]).model_json_schema()


def semantic_kernel(listed):
    from semantic_kernel.connectors.mcp import _get_parameter_dicts_from_mcp_tool
    from semantic_kernel.functions import KernelParameterMetadata

    found = [KernelParameterMetadata(**one) for one in _get_parameter_dicts_from_mcp_tool(tool_of(listed))]
    shown = {one.name: {**(one.schema_data or {}), "type": (one.schema_data or {}).get("type", one.type_)} for one in found}
    return {"type": "object", "properties": shown}


def llama_index(listed):
    from llama_index.tools.mcp import McpToolSpec

    spec = McpToolSpec(client=None)
    return spec.create_model_from_json_schema(listed["inputSchema"], model_name="Input").model_json_schema()


FRAMEWORKS = {
    "langchain": (langchain, "langchain-mcp-adapters"),
    "langchain_google_genai": (langchain_google_genai, "langchain-google-genai"),
    "openai_agents": (openai_agents, "openai-agents"),
    "openai_agents_strict": (openai_agents_strict, "openai-agents"),
    "pydantic_ai_openai": (pydantic_ai_openai, "pydantic-ai-slim"),
    "pydantic_ai_google": (pydantic_ai_google, "pydantic-ai-slim"),
    "strands": (strands, "strands-agents"),
    "google_adk": (google_adk, "google-adk"),
    "autogen": (autogen, "autogen-core"),
    "semantic_kernel": (semantic_kernel, "semantic-kernel"),
    "llama_index": (llama_index, "llama-index-tools-mcp"),
}


def resolved(schema: dict, root: dict) -> dict:
    """The schema behind a reference, and the one besides null of several."""
    while "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        schema = {**root.get("$defs", root.get("defs", {})).get(name, {}), **{k: v for k, v in schema.items() if k != "$ref"}}
    several = schema.get("anyOf") or schema.get("any_of") or schema.get("allOf")
    if several and "type" not in schema:
        others = [one for one in several if one.get("type") not in ("null", "NULL")]
        if len(others) == 1:
            return {**schema, **resolved(others[0], root)}
    return schema


def types(schema: dict) -> set[str]:
    found = schema.get("type")
    found = found if isinstance(found, list) else [found]
    return {str(getattr(one, "value", one)).lower() for one in found} - {"null", "none"}


def lost(listed: dict, shown: dict, framework: str) -> list[str]:
    """What a model is not shown of what the tool advertises."""
    told = []
    if ROOT_COMPOSED.get(framework, set()) & listed["inputSchema"].keys():
        return told
    members = shown.get("properties") or {}
    for name, schema in listed["inputSchema"].get("properties", {}).items():
        if name not in members:
            told.append(f"{name}: not there")
            continue
        member = resolved(members[name], shown)
        if "type" in schema and types(member) != {schema["type"]}:
            told.append(f"{name}: {schema['type']} has become {sorted(types(member))}")
        own = OWN_LOSSES.get(framework, set())
        if "enum" in schema and "enum" not in own:
            values = member.get("enum") or ([member["const"]] if "const" in member else [])
            if sorted(map(str, values)) != sorted(map(str, schema["enum"])):
                told.append(f"{name}: the values {schema['enum']} have become {values}")
    return told


def main() -> None:
    tools = json.load(open(sys.argv[1]))
    for framework in sys.argv[2:]:
        convert, package = FRAMEWORKS[framework]
        wrong = {}
        for listed in tools:
            try:
                # Some converters change what they are given.
                wrong[listed["name"]] = lost(listed, convert(json.loads(json.dumps(listed))), framework)
            except Exception as error:
                wrong[listed["name"]] = [f"{type(error).__name__}: {error}"[:300]]
        wrong = {name: found for name, found in wrong.items() if found}
        line = {"framework": framework, "version": version(package), "tools": len(tools), "lost": wrong}
        print(json.dumps(line))


main()
