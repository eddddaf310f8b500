// client.mjs: abatis mcp through the official TypeScript clients: version 1 of the SDK, and version 2 in both eras.
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const TOP = process.env.SERVER_TOP;
const command = `${TOP}/bin/abatis`;
const who = { name: "abatis-test", version: "1.0.0" };
const PATIENCE_MS = 60000; // that anything may take before it counts as hanging
let serial = 0;
const counts = { passed: 0, failed: 0 };

function expect(condition, message) {
        if (!condition) throw new Error(typeof message === "string" ? message : JSON.stringify(message));
}

// Whether there is a process with this word in its command line.
function isAlive(word) {
        return readdirSync("/proc").some((name) => {
                try {
                        return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").includes(word);
                } catch {
                        return false; // it has just ended
                }
        });
}

async function eventually(condition, message) {
        for (const end = Date.now() + PATIENCE_MS; !condition(); ) {
                expect(Date.now() < end, message);
                await new Promise((resolve) => setTimeout(resolve, 20));
        }
}

// How each of them is connected, and which era that must come to; undefined: this client cannot tell.
const clients = {
        sdk_1: { make: () => new OldClient(who), Transport: OldTransport },
        handshake: { make: () => new Client(who), Transport: StdioClientTransport, era: "legacy" },
        negotiated: { make: () => new Client(who, { versionNegotiation: { mode: "auto" } }), Transport: StdioClientTransport, era: "modern" },
        pinned: {
                make: () => new Client(who, { versionNegotiation: { mode: { pin: "2026-07-28" } } }),
                Transport: StdioClientTransport,
                era: "modern",
        },
};

const tests = {
        async is_served_in_its_era({ client, era }) {
                expect(client.getServerVersion()?.name === "abatis", client.getServerVersion());
                expect(!era || client.getProtocolEra() === era, `era ${client.getProtocolEra?.()}`);
                expect(client.getInstructions()?.includes("sandbox"), "no instructions");
        },
        async finds_the_tools({ client }) {
                const { tools } = await client.listTools();
                const names = tools.map((tool) => tool.name).sort();
                expect(isDeepStrictEqual(names, ["check_path", "explain_policy", "list_directory", "read_file", "run_command", "run_script", "run_skill", "write_file"]), names);
        },
        // After listTools() the client itself holds every result against the tool's output schema.
        async gets_results_of_their_schemas({ client, workspace }) {
                await client.listTools();
                writeFileSync(`${workspace}/file`, "text\n");
                const calls = [
                        ["run_command", { command: ["cat", "file"] }],
                        ["run_script", { script: "cat file" }],
                        ["read_file", { path: "file" }],
                        ["write_file", { path: "new", content: "new\n" }],
                        ["list_directory", { path: "." }],
                        ["check_path", { access: "write", path: "file" }],
                        ["explain_policy", {}],
                ];
                for (const [name, args] of calls) {
                        const result = await client.callTool({ name, arguments: args });
                        expect(!result.isError && result.structuredContent && result.content[0].type === "text", { name, result });
                }
                expect(readFileSync(`${workspace}/new`, "utf8") === "new\n", "not written");
        },
        async is_told_that_something_failed({ client }) {
                const result = await client.callTool({ name: "run_command", arguments: { command: ["false"] } });
                expect(result.isError && result.structuredContent.exit_code === 1, result);
                const refused = await client.callTool({ name: "read_file", arguments: { path: "absent" } });
                expect(refused.isError && refused.content[0].text.includes("No such file"), refused);
        },
        async cannot_call_what_there_is_not({ client }) {
                const error = await client.callTool({ name: "nothing", arguments: {} }).then(() => null, (why) => why);
                expect(error?.code === -32602, String(error));
        },
        async is_told_of_progress({ client, old }) {
                const told = [];
                const options = { onprogress: (progress) => told.push(progress) };
                const request = { name: "run_script", arguments: { script: "echo one; until [ -e go ]; do sleep 0.02; done" } };
                const result = old ? client.callTool(request, undefined, options) : client.callTool(request, options);
                await eventually(() => told.length >= 2, "nothing is told");
                await client.callTool({ name: "write_file", arguments: { path: "go", content: "" } });
                expect(!(await result).isError, await result);
                expect(told[0].message === "one" && told[0].progress < told[1].progress, told);
        },
        async can_cancel({ client, old }) {
                const word = `abatis-test-${process.pid}-${serial++}`;
                const end = new AbortController();
                const request = { name: "run_command", arguments: { command: ["sh", "-c", "sleep 600 & wait", word] } };
                const options = { signal: end.signal };
                const result = (old ? client.callTool(request, undefined, options) : client.callTool(request, options)).then(() => "answered", () => "cancelled");
                await eventually(() => isAlive(word), "it was not started");
                end.abort();
                expect((await result) === "cancelled", "not cancelled");
                await eventually(() => !isAlive(word), "it is still there");
                expect(!(await client.callTool({ name: "run_command", arguments: { command: ["true"] } })).isError, "the server is gone");
        },
        async leaves_nothing_when_it_closes({ client }) {
                const word = `abatis-test-${process.pid}-${serial++}`;
                client.callTool({ name: "run_command", arguments: { command: ["sh", "-c", "sleep 600 & wait", word] } }).catch(() => {});
                await eventually(() => isAlive(word), "it was not started");
                await client.close();
                await eventually(() => !isAlive(word), "it is still there");
        },
        async has_many_calls_at_once({ client }) {
                const numbers = [...Array(16).keys()];
                const results = await Promise.all(numbers.map((i) => client.callTool({ name: "run_command", arguments: { command: ["echo", String(i)] } })));
                expect(results.every((result, i) => result.structuredContent.stdout === `${i}\n`), "mixed up");
        },
};

async function connect(kind, workspace) {
        const { make, Transport, era } = clients[kind];
        const client = make();
        const { PATH, HOME, ASAN_OPTIONS } = process.env;
        const env = { PATH, HOME, ...(ASAN_OPTIONS && { ASAN_OPTIONS }) };
        await client.connect(new Transport({ command, args: ["mcp"], cwd: workspace, env }));
        return { client, era, workspace, old: Transport === OldTransport };
}

async function run(kind, name) {
        const workspace = mkdtempSync(`${TOP}/scratch/ws-`);
        const fact = `${kind}_client_${name}`;
        try {
                const connected = await connect(kind, workspace);
                try {
                        await tests[name](connected);
                } finally {
                        await connected.client.close();
                }
                counts.passed++;
                console.log(`ok ${fact}`);
        } catch (why) {
                counts.failed++;
                console.log(`not ok ${fact} - ${String(why?.message ?? why).slice(0, 400).replaceAll("\n", " ")}`);
        } finally {
                rmSync(workspace, { recursive: true, force: true });
        }
}

const parts = process.argv.slice(2);
for (const kind of Object.keys(clients))
        for (const name of Object.keys(tests)) {
                if (parts.length && !parts.some((part) => `${kind}_client_${name}`.includes(part))) continue;
                await run(kind, name);
        }
console.log(`${counts.passed} passed, ${counts.failed} failed, 0 skipped`);
process.exit(counts.failed ? 1 : 0);
