// Makes the calls with the Inspector's command line: `inspector.mjs CALLS http URL ERA` or
// `… CALLS stdio COMMAND ERA`, where ERA is `legacy` or `modern`. The command makes one call a run, and looks a
// tool up in the list before it asks for it. Prints what the caller got, one JSON object a line.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [calls, over, server, era] = process.argv.slice(2);
const command = fileURLToPath(new URL("node_modules/.bin/mcp-inspector", import.meta.url));
const target = over === "http" ? ["--server-url", server, "--transport", "http"] : [server, "mcp"];

const run = (...method) =>
  new Promise((done) => {
    const words = [command, "--cli", ...target, "--protocol-era", era, "--format", "json", "--method", ...method];
    execFile(process.execPath, words, { timeout: 30_000 }, (_, stdout, stderr) => done({ stdout, stderr }));
  });

// A result is on stdout, and what the command itself has to say on stderr, among lines for people.
const read = ({ stdout, stderr }) => {
  if (stdout.trim() !== "") return JSON.parse(stdout.trim());
  const said = stderr.split("\n").find((line) => line.startsWith('{"error"'));
  if (said === undefined) throw new Error(`the Inspector says neither result nor error: ${stderr}`);
  return { raised: JSON.parse(said).error };
};

const print = (call, line) => console.log(JSON.stringify({ call, era, ...line }));
print("tools/list", read(await run("tools/list")));
for (const { name, tool, arguments: input } of JSON.parse(readFileSync(calls, "utf8")).calls) {
  print(name, read(await run("tools/call", "--tool-name", tool, "--tool-args-json", JSON.stringify(input))));
}
