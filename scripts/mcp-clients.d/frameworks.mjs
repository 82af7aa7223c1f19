// Makes the calls with frameworks for agents: `frameworks.mjs FRAMEWORK CALLS (http URL|stdio COMMAND) FILE …`, each place
// with the file that what is seen there goes into. Each framework's own agent runs with a model that is a script: it
// makes the calls, and what it is shown of the tools and of each ending is written, one JSON object a line.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";

const [framework, callsPath, ...places] = process.argv.slice(2);
const CALLS = JSON.parse(readFileSync(callsPath, "utf8")).calls;
const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value));

// The AI SDK of Vercel: `generateText` calls the model, runs the tool that it asks for and shows it the result.
async function vercel({ over, at, told, made }) {
  const { createMCPClient } = await import("@ai-sdk/mcp");
  const { generateText, stepCountIs } = await import("ai");
  const { MockLanguageModelV3 } = await import("ai/test");
  const { Experimental_StdioMCPTransport: Stdio } = await import("@ai-sdk/mcp/mcp-stdio");
  const transport = over === "http" ? { type: "http", url: at } : new Stdio({ command: at, args: ["mcp"], stderr: "ignore" });
  const client = await createMCPClient({ transport });
  const tools = await client.tools();
  let described;
  await made(async (toolName, input) => {
    let shown;
    const usage = { inputTokens: { total: 0 }, outputTokens: { total: 0 } };
    const doGenerate = async ({ prompt, tools: seen }) => {
      described = Object.fromEntries(seen.map((tool) => [tool.name, tool.description]));
      const last = prompt.at(-1);
      if (last.role !== "tool") {
        const call = { type: "tool-call", toolCallId: "1", toolName, input: JSON.stringify(input) };
        return { content: [call], finishReason: { unified: "tool-calls" }, usage, warnings: [] };
      }
      const { output } = last.content[0];
      shown = output.type === "content" ? output.value.map((part) => part.text ?? "").join("") : plain(output.value);
      return { content: [{ type: "text", text: "done" }], finishReason: { unified: "stop" }, usage, warnings: [] };
    };
    await generateText({ model: new MockLanguageModelV3({ doGenerate }), tools, prompt: "go", stopWhen: stepCountIs(2) });
    return { shown };
  });
  told("tools/list", { described });
  await client.close();
}

// The Agents SDK of OpenAI: a run ends with an error where the model names a tool that is not listed.
async function openai_agents_js({ over, at, told, made }) {
  const { Agent, MCPServerStdio, MCPServerStreamableHttp, Usage, run, setTracingDisabled } = await import("@openai/agents");
  setTracingDisabled(true);
  const server = over === "http" ? new MCPServerStreamableHttp({ url: at }) : new MCPServerStdio({ command: at, args: ["mcp"] });
  await server.connect();
  let described;
  await made(async (name, input) => {
    let shown;
    const usage = new Usage();
    const getResponse = async (request) => {
      described = Object.fromEntries(request.tools.map((tool) => [tool.name, tool.description]));
      const result = Array.isArray(request.input) && request.input.find((item) => item.type === "function_call_result");
      if (!result) {
        const call = { type: "function_call", callId: "1", name, status: "completed", arguments: JSON.stringify(input) };
        return { usage, output: [call] };
      }
      shown = [result.output].flat().map((part) => part.text ?? plain(part)).join("");
      const content = [{ type: "output_text", text: "done" }];
      return { usage, output: [{ type: "message", role: "assistant", status: "completed", content }] };
    };
    try {
      await run(new Agent({ name: "a", model: { getResponse }, mcpServers: [server] }), "go");
    } catch (error) {
      if (error.constructor.name !== "ModelBehaviorError") throw error;
      return { not_sent: true };
    }
    return { shown };
  });
  told("tools/list", { described });
  await server.close();
}

const FRAMEWORKS = { vercel, openai_agents_js };
while (places.length > 0) {
  const [over, at, file] = places.splice(0, 3);
  writeFileSync(file, "");
  const told = (call, line) => appendFileSync(file, `${JSON.stringify({ call, ...line })}\n`);
  const made = async (make) => {
    for (const { name, tool, arguments: input } of CALLS) {
      told(name, await make(tool, input).catch((error) => ({ shown: `${error.name}: ${error.message}`, raised: true })));
    }
  };
  await FRAMEWORKS[framework]({ over, at, told, made });
}
process.exit(0);
