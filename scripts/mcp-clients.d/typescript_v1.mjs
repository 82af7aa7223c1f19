// Makes the calls with version 1 of the TypeScript SDK, which speaks one era only: `typescript_v1.mjs CALLS http URL
// legacy` or `… CALLS stdio COMMAND legacy`. Prints what the caller got, one JSON object a line.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [calls, over, server] = process.argv.slice(2);
const transport =
  over === "http"
    ? new StreamableHTTPClientTransport(new URL(server))
    : new StdioClientTransport({ command: server, args: ["mcp"], stderr: "ignore" });
// Over stdio the library keeps the version to itself, but tells a transport that asks for it.
let version;
const told = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (agreed) => {
  version = agreed;
  told?.(agreed);
};

const client = new Client({ name: "redress-matrix", version: "1.0.0" });
await client.connect(transport, { timeout: 30_000 });
const print = (line) => console.log(JSON.stringify({ version, ...line }));
print({ call: "tools/list", result: await client.listTools({}, { timeout: 30_000 }) });
for (const { name, tool, arguments: input } of JSON.parse(readFileSync(calls, "utf8")).calls) {
  try {
    const result = await client.callTool({ name: tool, arguments: input }, undefined, { timeout: 30_000 });
    print({ call: name, result });
  } catch (error) {
    print({ call: name, raised: { code: error.code, message: error.message, data: error.data } });
  }
}
await client.close();
