// Makes the calls with Gemini CLI: `gemini.mjs CALLS (http URL|stdio COMMAND) FILE …`, each place with the file that
// what is seen there goes into. The program runs as it does without a terminal, with a model that is a script on this machine: it asks
// for the tools one after the other, and what it is shown of them and of each ending is written, one JSON object a line.
import { execFile } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [callsPath, ...places] = process.argv.slice(2);
const CALLS = JSON.parse(readFileSync(callsPath, "utf8")).calls;
const PREFIX = "mcp_r_";
const command = fileURLToPath(new URL("node_modules/@google/gemini-cli/bundle/gemini.js", import.meta.url));

/** The model: what it answers to one request, and what it has been shown by then. */
function answer({ contents = [], tools = [] }, seen) {
  const declared = tools.flatMap((tool) => tool.functionDeclarations ?? []);
  for (const { name, description } of declared) {
    if (name.startsWith(PREFIX)) seen.described[name.slice(PREFIX.length)] = description;
  }
  const responses = contents.flatMap(({ parts = [] }) => parts.flatMap((part) => part.functionResponse ?? []));
  const ours = responses.filter((response) => response.name.startsWith(PREFIX));
  ours.forEach((response, place) => (seen.shown[place] = JSON.stringify(response.response)));
  // Whatever else it asks for, such as which model suits a question, is none of ours.
  const next = declared.length > 0 ? CALLS[ours.length] : undefined;
  if (next === undefined) return { text: declared.length > 0 ? "done" : "{}" };
  return { functionCall: { id: `${ours.length}`, name: PREFIX + next.tool, args: next.arguments } };
}

async function run(over, at) {
  const seen = { described: {}, shown: [] };
  const model = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      const part = answer(JSON.parse(body || "{}"), seen);
      const candidates = [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }];
      const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
      const text = JSON.stringify({ candidates, usageMetadata, totalTokens: 1 });
      const streams = request.url.includes("alt=sse");
      response.writeHead(200, { "content-type": streams ? "text/event-stream" : "application/json" });
      response.end(streams ? `data: ${text}\n\n` : text);
    });
  });
  await new Promise((ready) => model.listen(0, "127.0.0.1", ready));
  const home = mkdtempSync(join(tmpdir(), "gemini-"));
  mkdirSync(join(home, ".gemini"));
  const r = over === "http" ? { httpUrl: at } : { command: at, args: ["mcp"] };
  const settings = {
    mcpServers: { r: { ...r, trust: true } },
    security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
    general: { disableAutoUpdate: true, enableAutoUpdate: false },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
  };
  writeFileSync(join(home, ".gemini", "settings.json"), JSON.stringify(settings));
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    GEMINI_API_KEY: "none",
    GEMINI_CLI_NO_RELAUNCH: "true",
    GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${model.address().port}`,
    // Whatever it asks of anybody else is asked of nobody.
    HTTPS_PROXY: "http://127.0.0.1:1",
    NO_PROXY: "127.0.0.1",
  };
  const words = [command, "--prompt", "go", "--approval-mode", "yolo", "--model", "gemini-2.5-pro"];
  const said = await new Promise((done) => {
    execFile(process.execPath, words, { cwd: home, env, timeout: 140_000 }, (_, stdout, stderr) => done(stdout + stderr));
  });
  model.close();
  return { ...seen, said };
}

while (places.length > 0) {
  const [over, at, file] = places.splice(0, 3);
  const { described, shown, said } = await run(over, at);
  writeFileSync(file, `${JSON.stringify({ call: "tools/list", described })}\n`);
  CALLS.forEach(({ name }, place) => {
    if (shown[place] !== undefined) appendFileSync(file, `${JSON.stringify({ call: name, shown: shown[place] })}\n`);
  });
  console.error(said);
}
process.exit(0);
