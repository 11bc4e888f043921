// The gateways of docs/guides/test-your-api-tool.md in front of a sandbox: the conformance suite
// through each, and what each changes, as the guide says.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import type { RecordedRequest } from "../../../packages/sandbox/src/index.ts";
import type { Rule } from "../../../src/conformance/rule.ts";
import { rules as allRules } from "../../../src/conformance/rules.ts";
import { checkConformance, knownFailures, rulesNamed } from "../../support/conformance.ts";
import { eventually } from "../../support/eventually.ts";
import {
  addressesOf,
  BackgroundScript,
  copyExample,
  readGuide,
  runScript,
  runScriptOrThrow,
} from "../../support/guide.ts";
import { plantJson, post } from "../../support/http.ts";
import { rowsOf } from "../../support/markdown.ts";
import { npxMissing } from "../../support/npm-packages.ts";
import { reservePort } from "../../support/ports.ts";
import { describeIfInstalled, describeUnless, programPath, toolsMissing } from "../../support/programs.ts";
import { RunningSandbox, requestPage } from "../../support/sandbox.ts";
import { plantstore, TemporaryFolder } from "../../support/server.ts";

const guide = await readGuide("docs/guides/test-your-api-tool.md");

const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
let sandbox: RunningSandbox;
beforeAll(async () => {
  sandbox = resources.use(await RunningSandbox.start());
});
afterAll(() => resources.disposeAsync());

test("the commands of the guide's first section create a plant, read it back and reset the sandbox", async () => {
  const commands = guide.block("sh", "sandbox/reset", addressesOf(sandbox));
  const output = await runScriptOrThrow(commands, folder.path);
  expect(output).toContain("HTTP/1.1 200 OK");
  expect(output).toContain('{"id":9007199254740993,"name":"Monstera deliciosa"}');
  expect(await sandbox.plants()).toEqual([]);
});

test("the commands about forced outcomes and requests get 503, and the request", async () => {
  await sandbox.control("POST", "/reset");
  const commands = guide.block("sh", "Prefer: code=503", addressesOf(sandbox));
  const output = await runScriptOrThrow(commands, folder.path);
  expect(output).toContain("HTTP/1.1 503 Service Unavailable");
  expect(output).toContain('"error":50300');
  expect(output).toContain('"forced":{"prefer":"code=503, delay=0.5"}');
  expect(await sandbox.plants()).toEqual([]);
});

describeIfInstalled(
  "nginx",
  "nginx",
  () => {
    test("passes the conformance rules through, but for what the guide says", async () => {
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
      const broken = [...output.matchAll(/^ +FAIL +(\S+)/gm)].map(([, rule]) => rule);
      expect(broken).toEqual(["http.field-white-space"]);
      expect(exitCode).toBe(1);
    });
  },
  "nginx-light",
);

/** Rules that do not hold behind Prism, by the rows of the guide's table. */
const changedByPrism: Readonly<Record<string, readonly string[]>> = {
  "A number that a double cannot hold": [
    "ids.limits",
    "ids.beyond-53-bits",
    "ids.beyond-53-bits-stored",
    "ids.exact-fraction",
    "ids.notations-beyond-53-bits",
    "errors.conflict",
  ],
  "A body that is not JSON": [
    "contract.byte-order-mark",
    "contract.error-members",
    "errors.body-members",
    "errors.code-has-status",
    "errors.invalid-json",
    "errors.authentication-first",
  ],
  "A body that is not UTF-8": ["errors.invalid-utf8"],
  "A body that is `null` or a string": ["errors.invalid-plant"],
  "A chunked body": ["errors.too-large", "http.chunked-request"],
  "A body with 400,000 arrays": ["contract.no-server-error"],
  "A Content-Type that is not one media type": ["errors.media-type"],
  HEAD: ["http.head", "http.interface-description-methods"],
};
/** Node's parser, which is Prism's, rejects tabs after a value. */
const changedByNode = ["http.field-white-space"];
/** Prism loses some of many connections at once. */
const concurrent = /race|concurrent|many-connections|http\.request-id$/;

const prism = "@stoplight/prism-cli@5.14.2";
describeUnless(toolsMissing ?? (await npxMissing(prism)), "Prism as a proxy", () => {
  let url: string;
  let proxy: BackgroundScript;
  beforeAll(async () => {
    const port = reservePort();
    url = `http://127.0.0.1:${port}`;
    const command = guide.block("sh", prism, [...addressesOf(sandbox), ["4010", String(port)]]);
    proxy = resources.use(new BackgroundScript(command, folder.path));
    await proxy.listens(port);
  });

  test("forwards a create by the guide's command, and finds no violation", async () => {
    await sandbox.control("POST", "/reset");
    const command = guide.block("sh", "127.0.0.1:4010/plants", [["http://127.0.0.1:4010", url]]);
    const output = await runScriptOrThrow(command, folder.path);
    expect(output).toContain('{"name":"Ficus lyrata"}');
    expect(output.toLowerCase()).not.toContain("sl-violations");
    expect((await sandbox.plants()).find(({ id }) => id === 7n)).toEqual({ id: 7n, name: "Ficus lyrata" });
  });

  test("finds no violation in a response of the service, and breaks the rules that the guide's table explains", async () => {
    const rows = rowsOf(guide.text, /^\| .* \| .* \|$/).map(([first]) => first);
    for (const row of Object.keys(changedByPrism)) expect(rows).toContainEqual(expect.stringContaining(row));

    await sandbox.control("POST", "/reset");
    const target = { url, token: sandbox.token };
    const brokenOf = async (rules: readonly Rule[]) => {
      const { results } = await checkConformance(target, { rules, baseline: knownFailures });
      return results.filter(({ outcome }) => outcome === "fails").map(({ rule }) => rule.id);
    };
    const explained = [...Object.values(changedByPrism).flat(), ...changedByNode];
    const broken = await brokenOf(allRules.filter(({ id }) => !concurrent.test(id)));
    expect(broken).toEqual(expect.arrayContaining(explained));
    // Once more where a connection was lost: Prism closes idle ones after 5 seconds, beside a
    // request that is on its way.
    expect(await brokenOf(rulesNamed(...broken.filter((id) => !explained.includes(id))))).toEqual([]);

    const has = ({ request }: RecordedRequest, name: string) =>
      request.headers.some(([field]) => field.toLowerCase() === name);
    const { requests } = await requestPage(sandbox, "?limit=1000");
    expect(requests.length).toBeLessThan(1_000);
    // It responds to preflights itself.
    expect(requests.filter((each) => has(each, "access-control-request-method"))).toEqual([]);
    // The bare 400 to each chunked body, to which Prism has added a Content-Length: the log of the
    // sandbox shows it.
    const framedTwice = requests.filter(
      (each) => has(each, "transfer-encoding") && has(each, "content-length"),
    );
    expect(framedTwice.length).toBeGreaterThan(0);
    for (const { response } of framedTwice) expect(response).toMatchObject({ status: 400, body: "" });
    // Prism writes its log a little later.
    const violations = async () => new Set((await proxy.output()).match(/(?<=Violation: )response.*/g));
    await eventually("two kinds of violations", violations, ({ size }) => size === 2);
    expect(await violations()).toEqual(
      new Set([
        'response The received media type "" does not match the one specified in the current response: application/json',
        "response.body Response body must be object",
      ]),
    );
  });

  test("rounds ids beyond 2^53, removes white space around a body, and responds 500 to other media types", async () => {
    await sandbox.control("POST", "/reset");
    const target = { url, token: sandbox.token };
    const rounded = await post(target, plantJson(9007199254740993n, "Monstera"));
    expect(rounded.headers.get("sl-violations")).toContain("must be <= 9007199254740991");
    expect((await sandbox.plants()).map(({ id }) => id)).toEqual([9007199254740992n]);

    const padded = plantJson(1n, "Ficus") + " ".repeat(2 ** 20);
    expect((await post(sandbox, padded)).status).toBe(413);
    expect((await post(target, padded)).status).toBe(200);

    const mediaType = { "Content-Type": "nonsense" };
    expect((await post(sandbox, plantJson(2n, "Pilea"), mediaType)).status).toBe(415);
    expect((await post(target, plantJson(2n, "Pilea"), mediaType)).status).toBe(500);

    // The description has the server's address.
    expect(await (await fetch(`${url}/openapi.json`)).text()).toContain(new URL(sandbox.url).host);
  });
});
