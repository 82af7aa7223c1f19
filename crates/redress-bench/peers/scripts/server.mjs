// The TypeScript SDK with the tools that every server in the table has. Says its address on the first line.
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const tools = Number(process.argv[2]);

function server() {
  const mcp = new McpServer({ name: "bench", version: "1" });
  const input = { name: z.string(), times: z.number().int() };
  const give = (output) => ({ content: [{ type: "text", text: JSON.stringify(output) }], structuredContent: output });
  mcp.registerTool("bench_greet", { description: "Greet a person.", inputSchema: input }, async ({ name, times }) =>
    give({ message: `Hello ${name}, ${times} times` }));
  mcp.registerTool("bench_find", { description: "Find a person who is never there.", inputSchema: input }, async ({ name }) => {
    throw new Error(`nobody is called ${name}`);
  });
  mcp.registerTool("bench_total", { description: "Add up what orders cost.", inputSchema: { orders: z.array(z.any()) } }, async ({ orders }) =>
    give({ total: orders.reduce((sum, order) => sum + order.price * order.quantity, 0) }));
  for (let number = 3; number < tools; number++) {
    mcp.registerTool(`filler_operation_${number}`, { description: "Filler." }, async () => give({}));
  }
  return mcp;
}

// A server without sessions needs a transport of its own for each request: so its documentation has it.
createServer(async (request, response) => {
  const mcp = server();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  response.on("close", () => {
    transport.close();
    mcp.close();
  });
  await mcp.connect(transport);
  await transport.handleRequest(request, response);
}).listen(0, "127.0.0.1", function () {
  const { address, port } = this.address();
  console.log(`${address}:${port}`);
});
