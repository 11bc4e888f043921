// plantstore conformance: exit codes, the three reports, https and base paths, and the token, which
// no report contains.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { rules } from "../../../src/conformance/rules.ts";
import { makeCertificate } from "../../support/certificates.ts";
import { TerminalProgram } from "../../support/output.ts";
import { reservePort } from "../../support/ports.ts";
import { testIfInstalled } from "../../support/programs.ts";
import { plantstore, RunningServer, runCommand, TemporaryFolder } from "../../support/server.ts";

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

const baseline = new URL("../../../docs/known-failures.txt", import.meta.url).pathname;
const levelIds = (level: string) => rules.filter((rule) => rule.level === level).map(({ id }) => id);

/** A server that is wrong in its own way. */
const serve = (fetch: (request: Request) => Response | Promise<Response>) =>
  Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });

test("below a base path rules hold but for a known failure, and the three reports agree", async () => {
  const [junit, json] = [folder.file("report.xml"), folder.file("report.json")];
  // Not http.pipelining, the other known failure: it holds if a response comes before more bytes.
  const ids = [...levelIds("ids"), "errors.unavailable", "http.trailers"];
  const all = ["--rule", ids.join(), "--baseline", baseline, "--junit", junit, "--json", json];
  const { exitCode, stdout, stderr } = await conformance(...all);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toStartWith(`Plant Store conformance of ${server.url}\n`);
  const holds = levelIds("ids").length;
  expect(stdout).toMatch(
    new RegExp(
      `\n${holds} of ${ids.length} rules hold, 0 do not, 1 is known not to, 1 was skipped, in \\S+ s\n$`,
    ),
  );
  expect(stdout).toMatch(/^contract: (\d+) of \1 rules hold, 0 do not$/m);
  for (const id of ids)
    expect(stdout).toMatch(new RegExp(`^  (?:ok|skip|known) +${id.replaceAll(".", "\\.")} `, "m"));
  const document = JSON.parse(readFileSync(json, "utf8"));
  expect(document).toMatchObject({
    conforms: true,
    url: server.url,
    summary: { holds, fails: 0, known: 1, skipped: 1 },
  });
  expect(document.rules.map(({ id }: { id: string }) => id).toSorted()).toEqual(ids.toSorted());
  expect(readFileSync(junit, "utf8").match(/<testcase /g)).toHaveLength(ids.length);
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

test("a rule of the baseline that holds is said, and one that fails is no failure", async () => {
  const file = folder.file("baseline.txt");
  writeFileSync(file, "# comment\n\nhttp.trailers the reason\n  http.date\n");
  const names = ["--rule", "http.trailers,http.date", "--baseline", file];
  const { exitCode, stdout } = await conformance(...names);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^ {2}known {2}http\.trailers .* \(known failure: the reason\)$/m);
  expect(stdout).toContain("The baseline names rules that hold; remove them from it: http.date\n");
  expect((await conformance(...names.slice(0, 2))).exitCode).toBe(1);
  const known = await conformance("--rule", "http.trailers", "--baseline", file);
  expect(known).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining("0 of 1 rules hold, 0 do not, 1 is known not to"),
  });
});

test("a rule that does not hold: exit code 1, and its request and response", async () => {
  using listener = serve(() => Response.json({ name: "Ficus" }));
  const creates = "contract.create-with-tag,contract.token-required";
  const { exitCode, stdout } = await conformance("--url", `${listener.url.href}api`, "--rule", creates);
  expect(exitCode).toBe(1);
  expect(stdout).toContain('expected the name "Monstera deliciosa", received "Ficus"');
  expect(stdout).toMatch(/^ {4}> POST \/api\/plants HTTP\/1\.1$/m);
  expect(stdout).toMatch(/^ {4}> \{"id":\d+,"name":"Monstera deliciosa","tag":"tropical"\}$/m);
  expect(stdout).toMatch(/^ {4}< HTTP\/1\.1 200 OK$/m);
  expect(stdout).toContain("0 of 2 rules hold, 2 do not, in ");
});

test("on a terminal the rules are counted while they run, and the report has colours", async () => {
  const args = ["--url", server.url, "--token", token, "--rule", "ids.limits,http.head"];
  const program = new TerminalProgram([plantstore, "conformance", ...args]);
  expect(await program.exited).toBe(0);
  const shown = await program.output.ended;
  expect(shown).toContain("\r\x1b[K1/2 ids.limits\r\x1b[K2/2 http.head\r\x1b[K");
  expect(shown).toContain("\x1b[32mok   \x1b[0m  ids.limits");
});

test("--junit - and --json - print only that report", async () => {
  const json = await conformance("--rule", "ids.limits", "--json", "-");
  expect(JSON.parse(json.stdout).rules).toHaveLength(1);
  const junit = await conformance("--rule", "ids.limits", "--junit", "-");
  expect(junit.stdout).toStartWith("<?xml ");
});

test("no report contains the token, or one that differs in a character, although the server repeats them", async () => {
  using listener = serve((request) => {
    const message = request.headers.get("authorization") ?? "";
    return Response.json({ error: 1, message }, { status: 500, headers: { "X-Seen": message } });
  });
  const [junit, json] = [folder.file("secret.xml"), folder.file("secret.json")];
  const reports = ["--rule", "contract,errors", "--junit", junit, "--json", json];
  const { stdout, stderr } = await conformance("--url", listener.url.href, ...reports);
  expect(stdout).toContain("Authorization: Bearer ***");
  expect(stdout).toContain('"message":"Bearer ***"');
  for (const text of [stdout, stderr, readFileSync(junit, "utf8"), readFileSync(json, "utf8")]) {
    expect(text).not.toContain(token.slice(0, -1));
    expect(text.toLowerCase()).not.toContain(token.toLowerCase().slice(0, -1));
  }
});

testIfInstalled("openssl", "an https address with a certificate of its own", async () => {
  const { certificate, key } = makeCertificate(folder, "site", "/CN=localhost", "DNS:localhost");
  await using tls = await RunningServer.startInProcess({
    database: `sqlite:${folder.file("tls.db")}`,
    args: ["--base-path", "/v1", "--tls-certificate", certificate, "--tls-key", key],
  });
  const url = `https://localhost:${new URL(tls.url).port}/v1/`;
  const args = ["conformance", "--url", url, "--token", await tls.createToken()];
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

test("a server that answers 201 is one headline", async () => {
  using listener = serve(async (request) => {
    const { name, tag } = (await request.json().catch(() => ({}))) as { name?: string; tag?: string };
    return Response.json({ name, tag }, { status: 201 });
  });
  const { exitCode, stdout } = await conformance(
    ...["--url", listener.url.href, "--skip", "contract.no-server-error"],
  );
  expect(exitCode).toBe(1);
  expect(stdout.match(/^FAIL expected the status 200, received 201 \(\d+ rules\)$/gm)).toHaveLength(1);
  expect(stdout.match(/^ {4}> POST/gm)?.length).toBeLessThan(10);
  expect(stdout.length).toBeLessThan(12_000);
});

const usageErrors: readonly (readonly [args: string[], message: string])[] = [
  [[], "--url is required; give it, or set PLANTSTORE_CONFORMANCE_URL"],
  [["--url", "http://127.0.0.1"], "--token is required; give it, or set PLANTSTORE_CONFORMANCE_TOKEN"],
  [["--url", "127.0.0.1:8080", "--token", "x"], "is not a base URL such as https://plants.example/v1"],
  [["--url", "http://u:p@127.0.0.1", "--token", "x"], "is not a base URL"],
  [["--url", "http://127.0.0.1/?a=b", "--token", "x"], "is not a base URL"],
  [["--basis", "rfc"], '--basis: "rfc" is none of contract, standard, decision and all'],
  [["--rule", "ids.none"], '--rule: there is no rule "ids.none", and no such level; --list names them'],
  [["--skip", "every"], '--skip: there is no rule "every"'],
  [["--rule", "http.head", "--skip", "http"], "leave no rule to check"],
  [
    ["--url", "http://127.0.0.1", "--token", "x", "--json", "-", "--junit", "-"],
    "both print to standard output",
  ],
  [["--url", "http://127.0.0.1", "--token", "x", "--ca", "/nonexistent"], "--ca: ENOENT"],
  [["--url", "http://127.0.0.1", "--token", "x", "--ca", "/dev/null"], "holds no certificate in PEM"],
  [
    ["--url", "http://127.0.0.1", "--token", "x", "--body-bytes-max", "100"],
    "is not an integer from 1000 to",
  ],
  [["--url", "http://127.0.0.1", "--token", "x", "--baseline", "/nonexistent"], "--baseline: ENOENT"],
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
