// Makes the calls with version 2 of the TypeScript SDK: `typescript_v2.mjs CALLS http URL MODE` or
// `… CALLS stdio COMMAND MODE`, where MODE is `legacy`, the library's default, or `auto`. Prints what the
// caller got, one JSON object a line.
import { readFileSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [calls, over, server, mode] = process.argv.slice(2);
const transport =
  over === "http"
    ? new StreamableHTTPClientTransport(new URL(server))
    : new StdioClientTransport({ command: server, args: ["mcp"], stderr: "ignore" });
const options = mode === "auto" ? { versionNegotiation: { mode } } : {};
const client = new Client({ name: "redress-matrix", version: "1.0.0" }, options);
await client.connect(transport, { timeout: 10_000 });
const version = client.getNegotiatedProtocolVersion();
const print = (line) => console.log(JSON.stringify({ version, ...line }));
print({ call: "tools/list", result: await client.listTools({}, { timeout: 10_000 }) });
for (const { name, tool, arguments: input } of JSON.parse(readFileSync(calls, "utf8")).calls) {
  try {
    print({ call: name, result: await client.callTool({ name: tool, arguments: input }, { timeout: 10_000 }) });
  } catch (error) {
    print({ call: name, raised: { code: error.code, message: error.message, data: error.data } });
  }
}
await client.close();
