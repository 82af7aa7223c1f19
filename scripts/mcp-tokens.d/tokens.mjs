// Counts in o200k tokens what a model pays: `tokens.mjs REDRESS [--write]`, run from the folder of the repository. The tool list, the failures of
// the built-in operations and the twenty tasks of docs/files.md, there beside the reference server. Every task is done on
// files of its own, and has to go as `crates/redress-files/tests/tasks.json` says.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { encode } from "gpt-tokenizer/encoding/o200k_base";

const [redress, ...options] = process.argv.slice(2);
const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const { files, tasks } = read("crates/redress-files/tests/tasks.json");
const reference = read("scripts/mcp-tokens.d/reference.json");
const failures = read("scripts/mcp-tokens.d/failures.json");
/** The most that name, description and input of the tools `files_*` may cost, and a failure in the median. */
const MOST = { tools: 2000, failure: 80 };
const PAGE = "docs/files.md";

const work = mkdtempSync(join(tmpdir(), "tokens-"));
const wrong = [];
const check = (held, what) => held || wrong.push(what);
const number = (value) => value.toLocaleString("en-US");
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
// A path of this machine has as many tokens as it is long: it is told as one that is always the same.
const count = (text, root) => encode(text.replaceAll(root, "/srv/shop")).length;

function fill(root, all) {
  // The folder itself stays: another one in its place is not served.
  for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true });
  for (const { path, text = "", line = "", count: lines = 0 } of all) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    const written = Array.from({ length: lines }, (_, place) => `${line.replaceAll("{n}", place + 1)}\n`);
    writeFileSync(join(root, path), text + written.join(""), path.endsWith(".bin") ? "latin1" : "utf8");
  }
}

/** A server on a folder: its tools, and what its calls say and cost. */
async function server(name, all, command, args) {
  const root = join(work, name);
  mkdirSync(root, { recursive: true });
  const client = new Client({ name: "tokens", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command, args: args(root), cwd: root, stderr: "ignore" }));
  const { tools } = await client.listTools();
  const shown = ({ name, description, inputSchema }) => count(JSON.stringify({ name, description, inputSchema }), root);
  const call = async (tool, given) => {
    const text = JSON.stringify(given).replaceAll("<root>", root);
    const { content, isError } = await client.callTool({ name: tool, arguments: JSON.parse(text) });
    const said = content.map((block) => block.text ?? "").join("");
    return { said, isError: isError === true, asked: count(`${tool} ${text}`, root), cost: count(said, root) };
  };
  return { root, call, tools, shown, refill: () => fill(root, all), close: () => client.close() };
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const mine = await server("redress", files, redress, (root) => ["mcp", "--root", root, "--write"]);
const script = createRequire(import.meta.url).resolve(`${reference.server}/package.json`);
const theirs = await server("reference", files, process.execPath, (root) => [join(dirname(script), "dist/index.js"), root]);
const told = { mine: [], theirs: [] };

function holds({ root }, { file, holds: text }) {
  return existsSync(join(root, file)) && readFileSync(join(root, file), "utf8").includes(text);
}

async function ours({ task, calls, ending }) {
  mine.refill();
  const costs = [];
  let last;
  for (const [place, { call, input, ends, leads_by: leads }] of calls.entries()) {
    last = await mine.call(`files_${call}`, input);
    costs.push(last.asked + last.cost);
    if (last.isError) told.mine.push(last.cost);
    check(ends === "ok" ? !last.isError : last.said.includes(`"code":"${ends}"`), `${task}: ${last.said.slice(0, 400)}`);
    // On this face, operations have the names of their tools.
    const leading = leads?.replace(/^files\./, "files_");
    check(place === calls.length - 1 || last.said.includes(leading), `${task}: nothing leads on: ${last.said.slice(0, 400)}`);
  }
  const said = last.said.replaceAll('\\"', '"');
  check(ending.says === undefined ? holds(mine, ending) : said.includes(ending.says), `${task}: is not done`);
  return [calls.length, sum(costs), 0];
}

async function beside({ task, ending }, { calls, dead_ends: ends, not_done: undone = false }) {
  theirs.refill();
  const costs = [];
  let last;
  for (const [tool, given] of calls) {
    last = await theirs.call(tool, given.paths === "<small files>" ? { paths: reference.small_files } : given);
    costs.push(last.asked + last.cost);
    if (last.isError) told.theirs.push(last.cost);
  }
  if (ending.file !== undefined) {
    check(holds(theirs, ending) === !undone, `${task}: the reference server leaves something else`);
  }
  check(!last.isError, `${task}: the reference server says ${last.said.slice(0, 400)}`);
  return [calls.length, sum(costs), ends, undone];
}

const rows = [];
for (const [place, task] of tasks.entries()) {
  rows.push([task.task, reference.tasks[place].before, await ours(task), await beside(task, reference.tasks[place])]);
}
const cell = ([calls, tokens, ends, undone]) => `${calls} · ${number(tokens)}${ends ? ` · ${ends}` : ""}${undone ? " (not done)" : ""}`;
const total = (column, chosen = () => true) => [0, 1, 2].map((part) => sum(rows.filter(chosen).map((row) => row[column][part])));
const small = (row) => ![3, 17].includes(rows.indexOf(row));
const [before, now, there] = [1, 2, 3].map((column) => total(column));
const without = [1, 2, 3].map((column) => number(total(column, small)[1]));
const table = [
  "| task | before | now | server-filesystem |",
  "|---|---|---|---|",
  ...rows.map(([task, ...cells]) => `| ${task} | ${cells.map(cell).join(" | ")} |`),
  `| **together** | ${[before, now, there].map(([calls, tokens, ends]) => `**${calls} · ${number(tokens)} · ${ends}**`).join(" | ")} |`,
];

const own = mine.tools.filter(({ name }) => name.startsWith("files_"));
const list = sum(own.map(mine.shown));
const failing = Object.entries(failures.files).map(([path, text]) => ({ path, text }));
fill(mine.root, failing);
const costs = [];
for (const [tool, given] of failures.calls) {
  const { isError, said, cost } = await mine.call(tool, given);
  check(isError, `${tool} ${JSON.stringify(given)} does not fail: ${said.slice(0, 200)}`);
  costs.push(cost);
  if (options.includes("--all")) console.error(cost, tool, JSON.stringify(given), said);
}
if (options.includes("--all")) for (const tool of own) console.error(mine.shown(tool), tool.name, tool.description, JSON.stringify(tool.inputSchema));
const failure = median(costs);
check(own.length === 9 || own.length === 10, `${own.length} tools files_*`);
check(list <= MOST.tools, `the tools files_* cost ${list} tokens, more than ${MOST.tools}`);
check(failure <= MOST.failure, `a failure costs ${failure} tokens in the median, more than ${MOST.failure}`);
const figures = [
  `- Without the two tasks in which a large file comes whole, they are ${without[0]} before, ${without[1]} now and ${without[2]} there: its answers are bare text, ours are JSON with a hash.`,
  `- The tool list (name, description and input schema) is 3,676 tokens before, ${number(list)} now (${own.length} tools) and ${number(sum(theirs.tools.map(theirs.shown)))} there (${theirs.tools.length}).`,
  `- Failures of these tasks had a median of 185 tokens of text before, ${median(told.mine)} now and ${median(told.theirs)} there: theirs are short, and say the host's paths. Over ${failures.calls.length}`,
  `  failing calls of all built-in tools (\`scripts/mcp-tokens.d/failures.json\`) it is ${failure} now, and ${Math.max(...costs)} at most.`,
];
await mine.close();
await theirs.close();
rmSync(work, { recursive: true, force: true });

const [BEGIN, MIDDLE, END] = ["<!-- tokens: table -->\n", "<!-- tokens: figures -->\n", "<!-- tokens: end -->\n"];
const page = readFileSync(PAGE, "utf8");
const put = (text, from, lines) => {
  const start = text.indexOf(from) + from.length;
  return `${text.slice(0, start)}${lines.join("\n")}\n${text.slice(text.indexOf(END, start))}`;
};
const made = put(put(page, BEGIN, table), MIDDLE, figures);
for (const one of wrong) console.error(`mcp-tokens: ${one}`);
if (options.includes("--write") && wrong.length === 0) writeFileSync(PAGE, made);
else if (made !== page) {
  console.error([...table, ...figures].join("\n"));
  console.error(`mcp-tokens: ${PAGE} says something else; \`scripts/mcp-tokens --write\` keeps the above`);
  wrong.push(PAGE);
}
console.log(`${own.length} tools files_*: ${list} tokens; ${costs.length} failures: ${failure} tokens in the median; ${rows.length} tasks`);
process.exit(wrong.length === 0 ? 0 : 1);
