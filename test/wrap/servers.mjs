// servers.mjs: the reference servers of MCP in a sandbox, asked by the official client: all their tools work, and none reaches what is denied.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
        CallToolResultSchema,
        CreateMessageRequestSchema,
        ElicitRequestSchema,
        ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

const TOP = process.env.SERVER_TOP;
const HOME = process.env.HOME;
const ABATIS = `${TOP}/bin/abatis`;
const everything = [process.execPath, `${TOP}/test/node_modules/@modelcontextprotocol/server-everything/dist/index.js`];
const filesystem = [process.execPath, `${TOP}/test/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js`];
const counts = { passed: 0, failed: 0, skipped: 0 };

class Skip extends Error {}

function expect(condition, message) {
        if (!condition) throw new Error(typeof message === "string" ? message : JSON.stringify(message));
}

const inside = (...flags) => [ABATIS, "run", "--profile", "mcp-server", ...flags, "--"];
const outside = [];

// What a client can be asked by a server; roots are asked for by both servers, and the filesystem's would take them for its own.
function makeClient(roots) {
        const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, ...(roots ? { roots: {} } : {}) };
        const client = new Client({ name: "abatis-test", version: "1.0.0" }, { capabilities });
        const message = { role: "assistant", content: { type: "text", text: "sampled" }, model: "none" };
        client.setRequestHandler(CreateMessageRequestSchema, () => message);
        client.setRequestHandler(ElicitRequestSchema, ({ params }) =>
                params.mode === "url" ? { action: "accept" } : { action: "decline" },
        );
        if (roots) client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file://${roots}` }] }));
        return client;
}

async function withServer([command, ...args], { roots, env, cwd }, use) {
        const client = makeClient(roots);
        const transport = new StdioClientTransport({ command, args, cwd, stderr: "pipe", env: { PATH: process.env.PATH, HOME, ...env } });
        let said = "";
        transport.stderr.on("data", (data) => (said += data));
        try {
                await client.connect(transport, { timeout: 120000 });
        } catch (why) {
                throw new Error(`${why.message}: ${said.slice(-300)}`);
        }
        try {
                return await use(client, transport);
        } finally {
                await client.close();
        }
}

async function call(client, name, args) {
        const result = await client.callTool({ name, arguments: args });
        return { ok: !result.isError, text: JSON.stringify(result.content) };
}

// Tools that are tasks: the last of what is streamed is the result.
async function callTask(client, name, args) {
        for await (const event of client.experimental.tasks.callToolStream({ name, arguments: args }, CallToolResultSchema, {})) {
                if (event.type === "error") return { ok: false, text: String(event.error) };
                if (event.type === "result") return { ok: !event.result.isError, text: JSON.stringify(event.result.content) };
        }
        return { ok: false, text: "no result" };
}

// ---- the tools, and what each is called with ----

const everythingCalls = {
        echo: { message: "hello" },
        "get-annotated-message": { messageType: "success", includeImage: true },
        "get-env": {},
        "get-resource-links": { count: 2 },
        "get-resource-reference": { resourceType: "Text", resourceId: 1 },
        "get-structured-content": { location: "Chicago" },
        "get-sum": { a: 2, b: 3 },
        "get-tiny-image": {},
        "gzip-file-as-resource": { name: "a.gz", data: "data:text/plain,hello", outputType: "resource" },
        "toggle-simulated-logging": {},
        "toggle-subscriber-updates": {},
        "trigger-long-running-operation": { duration: 0.1, steps: 2 },
        "get-roots-list": {},
        "trigger-elicitation-request": {},
        "trigger-url-elicitation": { url: "https://example.org/" },
        "trigger-sampling-request": { prompt: "p" },
        "simulate-research-query": { topic: "t" },
};

// In this order, in an empty directory with a file "a" and a picture.
const filesystemCalls = (at) => ({
        read_file: { path: `${at}/a` },
        read_text_file: { path: `${at}/a`, head: 1 },
        read_media_file: { path: `${at}/p.png` },
        read_multiple_files: { paths: [`${at}/a`, `${at}/p.png`] },
        write_file: { path: `${at}/new`, content: "one\n" },
        edit_file: { path: `${at}/new`, edits: [{ oldText: "one", newText: "two" }] },
        create_directory: { path: `${at}/d/e` },
        list_directory: { path: at },
        list_directory_with_sizes: { path: at },
        directory_tree: { path: at },
        move_file: { source: `${at}/new`, destination: `${at}/d/moved` },
        search_files: { path: at, pattern: "**/moved" },
        get_file_info: { path: `${at}/a` },
        list_allowed_directories: {},
});

async function callAll(client, calls) {
        // Some of them appear when the server has asked what the client can do.
        for (let i = 0; i < 100; i++) {
                if ((await client.listTools()).tools.length >= Object.keys(calls).length) break;
                await new Promise((resolve) => setTimeout(resolve, 50));
        }
        const { tools } = await client.listTools();
        const names = tools.map((tool) => tool.name).sort();
        expect(names.join() === Object.keys(calls).sort().join(), { names });
        const outcomes = {};
        for (const [name, args] of Object.entries(calls)) {
                const isTask = tools.find((tool) => tool.name === name).execution?.taskSupport === "required";
                outcomes[name] = await (isTask ? callTask : call)(client, name, args);
        }
        return outcomes;
}

function makeFiles(at) {
        writeFileSync(`${at}/a`, "line\n");
        writeFileSync(`${at}/p.png`, Buffer.from("89504e470d0a1a0a", "hex"));
}

const failures = (outcomes) => Object.entries(outcomes).filter(([, outcome]) => !outcome.ok);

// What is asked of the filesystem server about a file that it must not have, and a word that only this file holds.
const word = "word-of-the-secret";
const readings = (path, directory, name) => [
        ["read_file", { path }],
        ["read_text_file", { path }],
        ["read_media_file", { path }],
        ["read_multiple_files", { paths: [path] }],
        ["search_files", { path: directory, pattern: `**/${name}` }],
        ["directory_tree", { path: directory }],
        ["list_directory", { path: directory }],
];

// How many of these gave the word, in plain or in base64, or the file's name.
async function countLeaks(start, options, asked, name) {
        return withServer(start, options, async (client) => {
                const leaks = [];
                for (const [tool, args] of asked) {
                        const { ok, text } = await call(client, tool, args);
                        const signs = tool.startsWith("read") ? [word, Buffer.from(`${word}\n`).toString("base64")] : [name];
                        if (ok && signs.some((sign) => text.includes(sign))) leaks.push(tool);
                }
                return leaks;
        });
}

const npx = (flags, ...rest) => [ABATIS, "run", ...flags, "--", "npx", "-y", ...rest];
const published = "@modelcontextprotocol/server-filesystem@2026.8.31";

function needRegistry() {
        const asked = spawnSync("npm", ["view", published, "version"], { env: { PATH: process.env.PATH, HOME: `${TOP}/scratch` }, timeout: 60000 });
        if (asked.status !== 0) throw new Skip("npm cannot be asked here");
}

const tests = {
        async every_tool_of_the_everything_server_works_inside(workspace) {
                const options = { roots: workspace, env: { SOME_TOKEN: "secret-value" }, cwd: workspace };
                const control = await withServer([...outside, ...everything], options, (client) => callAll(client, everythingCalls));
                expect(!failures(control).length, { outside: failures(control) });
                expect(control["get-env"].text.includes("secret-value"), "no control");
                const outcomes = await withServer([...inside(), ...everything], options, (client) => callAll(client, everythingCalls));
                expect(!failures(outcomes).length, { inside: failures(outcomes) });
                expect(!outcomes["get-env"].text.includes("secret-value"), "what looks secret was passed");
                expect(outcomes["get-sum"].text.includes("5") && outcomes.echo.text.includes("hello"), outcomes.echo);
        },
        async a_secret_is_passed_to_the_server_that_it_is_for(workspace) {
                const options = { env: { SOME_TOKEN: "secret-value" }, cwd: workspace };
                const { text } = await withServer([...inside("--env", "SOME_TOKEN"), ...everything], options, (client) => call(client, "get-env", {}));
                expect(text.includes("secret-value"), text);
        },
        async every_tool_of_the_filesystem_server_works_inside(workspace) {
                for (const start of [outside, inside("--write", workspace)]) {
                        const at = mkdtempSync(`${workspace}/at-`);
                        makeFiles(at);
                        const outcomes = await withServer([...start, ...filesystem, workspace], { cwd: workspace }, (client) => callAll(client, filesystemCalls(at)));
                        expect(!failures(outcomes).length, failures(outcomes));
                        expect(readFileSync(`${at}/d/moved`, "utf8") === "two\n", "not written");
                        expect(outcomes.search_files.text.includes("moved"), outcomes.search_files);
                }
        },
        // Its own arguments allow everything: it is the sandbox that refuses.
        async the_filesystem_server_does_not_reach_a_denied_file(workspace) {
                mkdirSync(`${workspace}/private`);
                writeFileSync(`${workspace}/private/key`, `${word}\n`);
                const asked = readings(`${workspace}/private/key`, `${workspace}/private`, "key");
                for (const root of ["/", TOP, workspace]) {
                        const control = await countLeaks([...outside, ...filesystem, root], {}, asked, "key");
                        expect(control.length === asked.length, { root, control });
                        const allowed = await countLeaks([...inside(), ...filesystem, root], {}, asked, "key");
                        expect(allowed.length === asked.length, { root, allowed });
                        const leaks = await countLeaks([...inside("--deny", `${workspace}/private`), ...filesystem, root], {}, asked, "key");
                        expect(!leaks.length, { root, leaks });
                }
        },
        async the_filesystem_server_does_not_reach_keys_in_the_home(workspace) {
                mkdirSync(`${HOME}/.ssh`, { recursive: true });
                writeFileSync(`${HOME}/.ssh/id_test`, `${word}\n`);
                const asked = readings(`${HOME}/.ssh/id_test`, `${HOME}/.ssh`, "id_test");
                for (const root of ["/", HOME]) {
                        const control = await countLeaks([...outside, ...filesystem, root], {}, asked, "id_test");
                        expect(control.length === asked.length, { root, control });
                        const leaks = await countLeaks([...inside(), ...filesystem, root], { cwd: workspace }, asked, "id_test");
                        expect(!leaks.length, { root, leaks });
                }
        },
        async a_link_in_the_workspace_does_not_lead_to_a_denied_file(workspace) {
                mkdirSync(`${workspace}/private`);
                mkdirSync(`${workspace}/open`);
                writeFileSync(`${workspace}/private/key`, `${word}\n`);
                symlinkSync(`${workspace}/private/key`, `${workspace}/open/link`);
                symlinkSync("../private", `${workspace}/open/directory`);
                const asked = [...readings(`${workspace}/open/link`, `${workspace}/open/directory`, "key"), ...readings(`${workspace}/open/directory/key`, `${workspace}/open/directory`, "key")];
                const control = await countLeaks([...outside, ...filesystem, "/"], {}, asked, "key");
                expect(control.length === asked.length, { control });
                const leaks = await countLeaks([...inside("--deny", `${workspace}/private`), ...filesystem, "/"], {}, asked, "key");
                expect(!leaks.length, { leaks });
        },
        async the_filesystem_server_writes_only_where_it_may(workspace) {
                for (const name of ["may", "not"]) mkdirSync(`${workspace}/${name}`);
                const writings = (at, tag) => [
                        ["write_file", { path: `${at}/${tag}`, content: "x" }],
                        ["create_directory", { path: `${at}/${tag}-d` }],
                        ["edit_file", { path: `${at}/old`, edits: [{ oldText: "o", newText: "n" }] }],
                        ["move_file", { source: `${at}/old`, destination: `${at}/${tag}-moved` }],
                ];
                async function count(start, at, tag) {
                        writeFileSync(`${at}/old`, "o");
                        return withServer([...start, ...filesystem, "/"], {}, async (client) => {
                                let done = 0;
                                for (const [tool, args] of writings(at, tag)) done += (await call(client, tool, args)).ok;
                                return done;
                        });
                }
                expect((await count(outside, `${workspace}/not`, "control")) === 4, "no control outside");
                expect((await count(inside("--write", `${workspace}/may`), `${workspace}/may`, "control")) === 4, "no control inside");
                expect((await count(inside("--write", `${workspace}/may`), `${workspace}/not`, "inside")) === 0, "written");
                expect(!readdirSync(`${workspace}/not`).some((name) => name.startsWith("inside")), readdirSync(`${workspace}/not`));
                expect(readFileSync(`${workspace}/not/old`, "utf8") === "o", "changed");
        },
        async a_client_that_reads_a_wrapped_configuration_is_kept_in(workspace) {
                writeFileSync(`${workspace}/key`, `${word}\n`);
                const config = `${workspace}/config.json`;
                const [command, ...args] = [...filesystem, "/"];
                writeFileSync(config, JSON.stringify({ mcpServers: { files: { command, args } } }, null, 2));
                const start = () => {
                        const server = JSON.parse(readFileSync(config, "utf8")).mcpServers.files;
                        return [server.command, ...server.args];
                };
                const asked = readings(`${workspace}/key`, workspace, "key").slice(0, 4);
                const before = readFileSync(config, "utf8");
                expect((await countLeaks(start(), {}, asked, "key")).length === asked.length, "no control");
                execFileSync(ABATIS, ["mcp-wrap", "--yes", "--deny", `${workspace}/key`, config], { stdio: "ignore" });
                expect((await countLeaks(start(), {}, asked, "key")).length === 0, "reached");
                execFileSync(ABATIS, ["mcp-wrap", "--yes", "--undo", config], { stdio: "ignore" });
                expect(readFileSync(config, "utf8") === before, "not undone");
        },
        async nothing_is_left_when_the_client_goes(workspace) {
                const pids = () => readdirSync("/proc").filter((name) => {
                        try {
                                return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "utf8").includes(workspace);
                        } catch {
                                return false;
                        }
                });
                await withServer([...inside(), ...filesystem, workspace], {}, async () => expect(pids().length > 0, "not seen"));
                for (let i = 0; pids().length; i++) {
                        expect(i < 600, "still there");
                        await new Promise((resolve) => setTimeout(resolve, 50));
                }
        },
        async npx_starts_a_server_under_the_preset_mcp(workspace) {
                needRegistry();
                const { text } = await withServer(npx(["--preset", "mcp"], published, workspace), { cwd: workspace }, (client) => call(client, "list_allowed_directories", {}));
                expect(text.includes(workspace), text);
                expect(!existsSync(`${HOME}/.npm`), "it has written its usual cache");
        },
        async npx_starts_without_a_network_what_it_has_fetched_inside(workspace) {
                needRegistry();
                for (const flags of [[], ["--net", "deny"]]) {
                        // With the version, and without: then npx asks for the newest first.
                        for (const spec of [published, published.replace(/@[^@]*$/, "")]) {
                                const start = npx(["--profile", "mcp-server", ...flags], spec, workspace);
                                const { text } = await withServer(start, { cwd: workspace }, (client) => call(client, "list_allowed_directories", {}));
                                expect(text.includes(workspace), text);
                        }
                }
                expect(!existsSync(`${HOME}/.npm`) && existsSync(`${HOME}/.cache/abatis/inside/npm`), readdirSync(HOME));
        },
};

const parts = process.argv.slice(2);
for (const [name, test] of Object.entries(tests)) {
        if (parts.length && !parts.some((part) => name.includes(part))) continue;
        const workspace = mkdtempSync(`${TOP}/scratch/ws-`);
        try {
                await test(workspace);
                counts.passed++;
                console.log(`ok ${name}`);
        } catch (why) {
                const isSkip = why instanceof Skip;
                counts[isSkip ? "skipped" : "failed"]++;
                console.log(`${isSkip ? "skip" : "not ok"} ${name} - ${String(why.message ?? why).replaceAll("\n", " ").slice(0, 600)}`);
        }
        rmSync(workspace, { recursive: true, force: true });
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(counts.failed ? 1 : 0);
