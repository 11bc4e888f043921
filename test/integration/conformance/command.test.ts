// plantstore conformance: exit codes, the reports, https and base paths, and the token, which
// no report contains.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { makeCertificate } from "../../support/certificates.ts";
import { allRules as rules } from "../../support/conformance.ts";
import { contractFile, sandboxOf } from "../../support/contract-sandbox.ts";
import { reservePort } from "../../support/ports.ts";
import { testIfInstalled } from "../../support/programs.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { RunningServer, runCommand, runProgram, TemporaryFolder } from "../../support/server.ts";
import { readingsText } from "./bugs.ts";

const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
let server: RunningServer;
let token: string;
beforeAll(async () => {
  const database = `sqlite:${folder.file("plants.db")}`;
  server = resources.use(await RunningServer.startInProcess({ database, args: ["--base-path", "/v1"] }));
  token = await server.createToken();
});
afterAll(() => resources.disposeAsync());

const conformance = (...args: string[]) =>
  runCommand(["conformance", "--url", server.url, ...args], { PLANTSTORE_CONFORMANCE_TOKEN: token });

const levelIds = (level: string) => rules.filter((rule) => rule.level === level).map(({ id }) => id);

/** A server that is wrong in its own way. */
const serve = (fetch: (request: Request) => Response | Promise<Response>) =>
  Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });

test("below a base path rules hold, and the two reports agree", async () => {
  const json = folder.file("report.json");
  const ids = [...levelIds("ids"), "errors.retry-after"];
  const all = ["--rule", ids.join(), "--json", json];
  const { exitCode, stdout, stderr } = await conformance(...all);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toStartWith(`Plant Store conformance of ${server.url}\n`);
  const holds = levelIds("ids").length;
  expect(stdout).toMatch(
    new RegExp(`\n${holds} of ${ids.length} rules hold, 0 do not, 1 was skipped, in \\S+ s\n$`),
  );
  expect(stdout).toMatch(/^contract: (\d+) of \1 rules hold, 0 do not$/m);
  const document = JSON.parse(readFileSync(json, "utf8"));
  expect(document).toMatchObject({
    conforms: true,
    url: server.url,
    summary: { holds, fails: 0, skipped: 1 },
  });
  expect(document.collections[0].rules.map(({ id }: { id: string }) => id).toSorted()).toEqual(
    ids.toSorted(),
  );
});

test("--list prints the rules that would be checked: without other options those of the contract", async () => {
  const list = async (...args: string[]) =>
    (await runCommand(["conformance", "--list", ...args])).stdout.split("\n");
  expect(await list("--rule", "ids", "--skip", "ids.fraction")).toEqual([
    ...rules
      .filter(({ id, level }) => level === "ids" && id !== "ids.fraction")
      .map(({ title }) => expect.stringMatching(new RegExp(`^ids\\..*  ${RegExp.escape(title)}$`))),
    "",
  ]);
  const byDefault = await list();
  expect(byDefault).toHaveLength(rules.filter(({ basis }) => basis === "contract").length + 1);
  expect(byDefault.every((line) => line === "" || line.includes("  the contract  "))).toBe(true);
});

test("a rule that does not hold: exit code 1, and a command that shows the fault again", async () => {
  using listener = serve(() => Response.json({ name: "Ficus" }));
  const rule = ["--rule", "contract.create"];
  const { exitCode, stdout } = await conformance("--url", `${listener.url.href}api`, ...rule);
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(
    /^FAIL contract\.create: without a tag: expected the name "Monstera \d+", received "Ficus"$/m,
  );
  const [, command = ""] = /^ {2}\$ (curl .*)$/m.exec(stdout) ?? [];
  expect(command).toContain("/api/plants' -H 'Authorization: Bearer '\"$TOKEN\" -H");
  const { stdout: shown } = await runProgram(["bash", "-c", command], {
    env: { ...process.env, TOKEN: token },
  });
  expect(shown).toEndWith('{"name":"Ficus"}');
  expect(stdout).toContain("0 of 1 rules hold, 1 does not, in ");
});

test("a seed repeats the ids of a run, and the last line says what the default leaves out", async () => {
  const bodies: string[] = [];
  using listener = serve(async (request) => {
    bodies.push(await request.text());
    return Response.json({ name: "x" });
  });
  const run = async () => {
    const args = [
      "--url",
      listener.url.href,
      "--seed",
      "7",
      "--skip",
      "idempotence,contract.no-server-error",
    ];
    const { stdout } = await conformance(...args);
    expect(stdout).toContain(", --seed 7\n");
    expect(stdout).toMatch(
      /\nNot checked: forms of JSON and of header fields; retries .* --basis all checks them\.\n$/,
    );
    return bodies.splice(0);
  };
  expect(await run()).toEqual(await run());
});

test("a server that does not accept a plain create is not judged: exit code 3, and what looks wrong", async () => {
  const problem = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await conformance(...args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    return stderr;
  };
  expect(await problem("--token", "other")).toBe(
    "plantstore: --token looks wrong: POST /v1/plants with a valid plant got 401\n",
  );
  expect(await problem("--url", `${server.url}/plants`)).toBe(
    "plantstore: --url looks wrong: it ends in /plants, which is appended: POST /v1/plants/plants with a valid plant got 404\n",
  );
  expect(await problem("--url", server.url.replace("/v1", ""))).toStartWith(
    "plantstore: --url looks wrong: POST /plants ",
  );
  using listener = serve(() => Response.json({ error: 1, message: "no" }, { status: 400 }));
  expect(await problem("--url", listener.url.href)).toBe(
    'plantstore: no rule can be judged: POST /plants with a valid plant got 400 {"error":1,"message":"no"}\n',
  );
});

test.each([
  ["the token, or one that differs in a character", (sent: string) => sent],
  ["the token in percent-encoding", encodeURIComponent],
])("no report contains %s, although the server repeats it", async (_, repeat) => {
  const secret = "s3cret/of+a/service=";
  using listener = serve(({ headers }) => {
    const name = `Bearer ${repeat(headers.get("authorization")?.slice("Bearer ".length) ?? "")}`;
    return Response.json({ name }, { headers: { "X-Seen": name } });
  });
  const json = folder.file("secret.json");
  const reports = ["--rule", "contract,errors", "--json", json, "--token", secret];
  const { stdout, stderr } = await conformance("--url", listener.url.href, ...reports);
  expect(stdout).toContain('{"name":"Bearer ***"');
  for (const text of [stdout, stderr, readFileSync(json, "utf8")])
    expect(text.toLowerCase()).not.toContain(repeat(secret.slice(0, -1)).toLowerCase());
});

testIfInstalled("openssl", "an https address with a certificate of its own", async () => {
  const { certificate, key } = makeCertificate(folder, "site", "/CN=localhost", "DNS:localhost");
  await using tls = await RunningServer.startInProcess({
    database: `sqlite:${folder.file("tls.db")}`,
    args: ["--base-path", "/v1", "--tls-certificate", certificate, "--tls-key", key],
  });
  const url = `https://localhost:${new URL(tls.url).port}/v1/`;
  const token = await tls.createToken();
  const args = ["conformance", "--url", url, "--token", token, "--rule", "contract.create,errors.token"];
  const { exitCode, stdout } = await runCommand([...args, "--ca", certificate]);
  expect(stdout).toContain("0 do not, in ");
  expect(exitCode).toBe(0);
  const untrusted = await runCommand(args);
  expect(untrusted).toMatchObject({ exitCode: 3, stdout: "" });
  expect(untrusted.stderr).toMatch(
    /^plantstore: cannot connect to localhost:\d+: [^\n]+ or give its certificate as --ca\n$/,
  );
});

test("a server that cannot be reached is an error of one line", async () => {
  const port = reservePort();
  for (const [url, reason] of [
    [`http://127.0.0.1:${port}`, /ECONNREFUSED/],
    ["http://plants.invalid", /ENOTFOUND|EAI_AGAIN|ESERVFAIL|getaddrinfo|DNS/i],
  ] as const) {
    const { exitCode, stderr } = await runCommand(["conformance", "--url", url, "--token", "x"]);
    expect(exitCode).toBe(3);
    expect(stderr).toMatch(/^plantstore: cannot connect to [^\n]+; start the server, or correct --url\n$/);
    expect(stderr).toMatch(reason);
  }
});

test("a report that cannot be written is an error after the printed one", async () => {
  const file = folder.file("no/folder");
  const { exitCode, stdout, stderr } = await conformance("--rule", "ids.limits", "--json", file);
  expect(exitCode).toBe(3);
  expect(stdout).toContain("1 of 1 rules hold");
  expect(stderr).toMatch(
    /^plantstore: the report could not be written: ENOENT[^\n]*; choose another file\n$/,
  );
});

const usageErrors: readonly (readonly [args: string[], message: string])[] = [
  [[], "--url is required"],
  [["--url", "http://127.0.0.1"], "--token is required; give it, or set PLANTSTORE_CONFORMANCE_TOKEN"],
  [["--url", "127.0.0.1:8080", "--token", "x"], "is not a base URL such as https://plants.example/v1"],
  [["--url", "http://u:p@127.0.0.1", "--token", "x"], "is not a base URL"],
  [["--url", "http://127.0.0.1/?a=b", "--token", "x"], "is not a base URL"],
  [["--basis", "rfc"], '--basis: "rfc" is none of contract, standard, decision and all'],
  [["--rule", "ids.none"], '--rule: there is no rule "ids.none", and no such level; --list names them'],
  [["--skip", "every"], '--skip: there is no rule "every"'],
  [["--rule", "ids.limits", "--skip", "ids"], "leave no rule to check"],
  [["--url", "http://127.0.0.1", "--token", "x", "--ca", "/nonexistent"], "--ca: ENOENT"],
  [
    ["--url", "http://127.0.0.1", "--token", "x", "--body-bytes-max", "100"],
    "is not an integer from 1000 to",
  ],
  [["--url", "http://127.0.0.1", "--token", "x", "--seed", "x"], "is not an integer from 0 to"],
  [
    ["--url", "http://127.0.0.1", "--token", "x", "--response-seconds-max", "0"],
    "is not an integer from 1 to 600",
  ],
];
test.each(usageErrors)("%j is a usage error", async (args, message) => {
  const { exitCode, stderr } = await runCommand(["conformance", ...args]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(message);
  expect(stderr).toMatch(/^plantstore: [^\n]+\n$/);
});

test("a token that cannot be sent is a usage error that does not repeat it", async () => {
  const { exitCode, stderr } = await runCommand(["conformance", "--url", server.url, "--token", "se cret"]);
  expect(exitCode).toBe(2);
  expect(stderr).toBe(
    "plantstore: --token: the value is not a token: one or more visible ASCII characters without spaces\n",
  );
});

const readingsFile = folder.file("readings.json");
writeFileSync(readingsFile, readingsText);
const fixedBody = {
  content: {
    "application/json": {
      schema: {
        type: "object",
        required: ["id", "on"],
        properties: { id: { type: "integer" }, on: { type: "boolean", const: true } },
      },
    },
  },
};
const fixedPaths = {
  paths: { "/switches": { post: { requestBody: fixedBody, responses: { "201": { description: "Set." } } } } },
};
const fixedFile = folder.file("fixed.json");
writeFileSync(fixedFile, JSON.stringify({ ...JSON.parse(readingsText), ...fixedPaths }));

test("the command checks a sandbox of a contract, and says which rules do not apply", async () => {
  await using sandbox = await RunningSandbox.startInProcess({ args: ["--contract", readingsFile] });
  const args = ["--url", sandbox.url, "--token", sandbox.token, "--contract", readingsFile];
  const { exitCode, stdout, stderr } = await runCommand(["conformance", ...args, "--rule", "contract,ids"]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toStartWith(`Meters conformance of ${sandbox.url}\n`);
  expect(stdout).toContain("\nn/a     contract.unknown-members (the contract allows no unknown members)\n");
  expect(stdout).toMatch(/rules hold, 0 do not, 7 do not apply, in \S+ s\n$/);
});

test.each([
  [
    ["--contract", readingsFile, "--rule", "ids.limits"],
    "ids.limits does not apply to this contract: the contract limits its ids",
  ],
  [["--contract", fixedFile], "--contract: the rules need a member of a switch that may have two values"],
  [
    ["--contract", contractFile("parcels.yaml"), "--collection", "/other"],
    '--collection: "/other" is no collection of the contract; it has parcels',
  ],
  [
    ["--contract", "/nowhere.yaml"],
    "the contract /nowhere.yaml cannot be read (ENOENT); name a file with --contract",
  ],
])("%j is an error", async (args, message) => {
  const { exitCode, stderr } = await runCommand(["conformance", "--list", ...args]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: `plantstore: ${message}\n` });
});

test("the command needs no token for a contract that needs none", async () => {
  await using store = await sandboxOf(contractFile("pets.yaml"));
  const args = ["--url", store.url, "--contract", contractFile("pets.yaml"), "--rule", "contract.create"];
  const { exitCode, stdout, stderr } = await runCommand(["conformance", ...args]);
  expect({ exitCode, stderr, stdout }).toMatchObject({ exitCode: 0, stderr: "" });
});
