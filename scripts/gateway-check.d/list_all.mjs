// Lists every tool of a server with the official MCP client for TypeScript, which compiles every output schema and throws on the
// first that it cannot: `list_all.mjs URL COUNT`.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, count] = process.argv.slice(2);
const client = new Client({ name: "gateway-check", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)), { timeout: 120_000 });
const names = new Set();
let cursor;
do {
  const page = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: 120_000 });
  for (const tool of page.tools) names.add(tool.name);
  cursor = page.nextCursor;
} while (cursor !== undefined);
await client.close();
if (names.size < Number(count)) {
  console.error(`gateway-check: the TypeScript client lists ${names.size} tools instead of at least ${count}`);
  process.exit(1);
}
