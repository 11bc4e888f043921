// The first commands of docs/guides/test-your-api-tool.md, and its gateways in front of a sandbox.

import { afterAll, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import {
  addressesOf,
  BackgroundScript,
  copyExample,
  readGuide,
  runScript,
  runScriptOrThrow,
} from "../../support/guide.ts";
import { plantJson, post } from "../../support/http.ts";
import { npxMissing } from "../../support/npm-packages.ts";
import { reservePort } from "../../support/ports.ts";
import { describeIfInstalled, describeUnless, programPath, toolsMissing } from "../../support/programs.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { plantstore, TemporaryFolder } from "../../support/server.ts";

const guide = await readGuide("docs/guides/test-your-api-tool.md");

const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
const sandbox = resources.use(await RunningSandbox.start());
afterAll(() => resources.disposeAsync());

test("the commands of the guide's first section create a plant, read it back and reset the sandbox", async () => {
  const commands = guide.block("sh", "sandbox/reset", addressesOf(sandbox));
  const output = await runScriptOrThrow(commands, folder.path);
  expect(output).toContain("HTTP/1.1 200 OK");
  expect(output).toContain('{"id":9007199254740993,"name":"Monstera deliciosa"}');
  expect(await sandbox.resources()).toEqual([]);
});

test("the commands about forced outcomes and requests get 503, and the request", async () => {
  await sandbox.control("POST", "/reset");
  const commands = guide.block("sh", "Prefer: code=503", addressesOf(sandbox));
  const output = await runScriptOrThrow(commands, folder.path);
  expect(output).toContain("HTTP/1.1 503 Service Unavailable");
  expect(output).toContain('"error":50300');
  expect(output).toContain('"forced":{"prefer":"code=503, delay=0.5"}');
  expect(await sandbox.resources()).toEqual([]);
});

describeIfInstalled("nginx", "nginx", () => {
  test("passes the conformance rules through", async () => {
    const port = reservePort();
    const place = folder.file("nginx");
    mkdirSync(place);
    const replacements = [...addressesOf(sandbox), ["127.0.0.1:8000", `127.0.0.1:${port}`]] as const;
    await copyExample("nginx.conf", place, replacements);
    const command = guide.block("sh", "nginx -p", [["nginx -p", `exec ${programPath("nginx")} -p`]]);
    await using nginx = new BackgroundScript(command, place);
    await nginx.listens(port);
    const conformance = guide.block("sh", "plantstore conformance", [
      ["http://127.0.0.1:8000", `http://127.0.0.1:${port}`],
      ["plantstore conformance", `${plantstore} conformance`],
    ]);
    const { exitCode, output } = await runScript(conformance, folder.path);
    if (exitCode !== 0) throw new Error(output);
  });
});

const prism = "@stoplight/prism-cli@5.14.2";
describeUnless(toolsMissing ?? (await npxMissing(prism)), "Prism as a proxy", () => {
  test("forwards a create by the guide's command, and finds no violation", async () => {
    const port = reservePort();
    const url = `http://127.0.0.1:${port}`;
    const start = guide.block("sh", prism, [...addressesOf(sandbox), ["4010", String(port)]]);
    await using proxy = new BackgroundScript(start, folder.path);
    await proxy.listens(port);
    await sandbox.control("POST", "/reset");
    const command = guide.block("sh", "127.0.0.1:4010/plants", [["http://127.0.0.1:4010", url]]);
    const output = await runScriptOrThrow(command, folder.path);
    expect(output).toContain('{"name":"Ficus lyrata"}');
    expect(output.toLowerCase()).not.toContain("sl-violations");
    expect(await sandbox.resources()).toEqual([{ id: 7n, name: "Ficus lyrata" }]);
    const rounded = await post({ url, token: sandbox.token }, plantJson(9007199254740993n, "Monstera"));
    expect(rounded.headers.get("sl-violations")).toContain("must be <= 9007199254740991");
  });
});
