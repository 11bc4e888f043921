// plantstore conformance: exit codes, the three reports, https and base paths, and the token, which
// no report contains.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { rules } from "../../../src/conformance/rules.ts";
import { makeCertificate } from "../../support/certificates.ts";
import { commandError } from "../../support/commands.ts";
import { knownFailures } from "../../support/conformance.ts";
import { reservePort } from "../../support/ports.ts";
import { pathOf, testIfInstalled } from "../../support/programs.ts";
import { plantstore, RunningServer, runCommand, runIn, TemporaryFolder } from "../../support/server.ts";

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
const all = ["--basis", "all", "--baseline", baseline];

/** A server that says the token that it was sent, in its body and its header fields. */
const echo = () =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      const authorization = request.headers.get("authorization") ?? "";
      return Response.json(
        { error: 1, message: authorization },
        { status: 500, headers: { "X-Seen": authorization } },
      );
    },
  });

test("all rules but the known failures hold on this server, below a base path, and the three reports agree", async () => {
  const [junit, json] = [folder.file("report.xml"), folder.file("report.json")];
  const { exitCode, stdout, stderr } = await conformance(...all, "--junit", junit, "--json", json);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toStartWith(`Plant Store conformance of ${server.url}\n`);
  const known = knownFailures.size;
  const holds = rules.length - 2 - known;
  expect(stdout).toMatch(
    new RegExp(
      `\n${holds} of ${rules.length} rules hold, 0 do not, ${known} are known not to, 2 were skipped, in \\S+ s\n$`,
    ),
  );
  expect(stdout).toMatch(/^contract: (\d+) of \1 rules hold, 0 do not$/m);
  expect(stdout).not.toContain("The baseline names rules that hold");
  for (const { id } of rules)
    expect(stdout).toMatch(new RegExp(`^  (?:ok|skip|known) +${id.replaceAll(".", "\\.")} `, "m"));
  const document = JSON.parse(readFileSync(json, "utf8"));
  expect(document).toMatchObject({
    conforms: true,
    url: server.url,
    summary: { holds, fails: 0, known, skipped: 2 },
  });
  expect(document.rules.map(({ id }: { id: string }) => id)).toEqual(rules.map(({ id }) => id));
  expect(readFileSync(junit, "utf8").match(/<testcase /g)).toHaveLength(rules.length);

  // The next run replaces its reports.
  expect((await conformance("--rule", "ids", "--junit", junit, "--json", json)).exitCode).toBe(0);
});

test("the contract alone is checked by default", async () => {
  const { exitCode, stdout } = await conformance("--json", "-");
  const { rules: checked } = JSON.parse(stdout);
  expect(exitCode).toBe(0);
  expect(checked.map(({ id }: { id: string }) => id)).toEqual(
    rules.filter(({ basis }) => basis === "contract").map(({ id }) => id),
  );
});

test("--list prints the rules that would be checked, and needs no server", async () => {
  const list = async (...args: string[]) =>
    (await runCommand(["conformance", "--list", ...args])).stdout.split("\n");
  expect(await list("--rule", "ids", "--skip", "ids.fraction")).toEqual([
    ...rules
      .filter(({ id, level }) => level === "ids" && id !== "ids.fraction")
      .map(({ title }) => expect.stringMatching(new RegExp(`^ids\\..*  ${RegExp.escape(title)}$`))),
    "",
  ]);
  expect((await list()).every((line) => line === "" || line.includes("  the contract  "))).toBe(true);
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
});

test("a store with the plants of earlier runs does not matter", async () => {
  for (let time = 0; time < 2; time++)
    expect((await conformance("--rule", "contract,ids,idempotence")).exitCode).toBe(0);
});

test("a rule that does not hold: exit code 1, and its request and response", async () => {
  using listener = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => Response.json({ name: "Ficus" }),
  });
  const url = `http://127.0.0.1:${listener.port}/api`;
  const args = ["--url", url, "--token", token, "--rule", "contract.create-with-tag,contract.token-required"];
  const { exitCode, stdout } = await runCommand(["conformance", ...args]);
  expect(exitCode).toBe(1);
  expect(stdout).toContain('expected the name "Monstera deliciosa", received "Ficus"');
  expect(stdout).toMatch(/^ {4}> POST \/api\/plants HTTP\/1\.1$/m);
  expect(stdout).toMatch(/^ {4}> \{"id":\d+,"name":"Monstera deliciosa","tag":"tropical"\}$/m);
  expect(stdout).toMatch(/^ {4}< HTTP\/1\.1 200 OK$/m);
  expect(stdout).toContain("0 of 2 rules hold, 2 do not, in ");
});

testIfInstalled(
  "script",
  "on a terminal the rules are counted while they run, and the report has colours",
  async () => {
    const command = `${plantstore} conformance --url ${server.url} --token ${token} --rule ids.limits,http.head`;
    const { exitCode, stdout } = await runIn(folder.path, [
      "env",
      "TERM=xterm",
      "script",
      "-qec",
      command,
      "/dev/null",
    ]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("\r\x1b[K1/2 ids.limits\r\x1b[K2/2 http.head\r\x1b[K");
    expect(stdout).toContain("\x1b[32mok   \x1b[0m  ids.limits");
  },
);

test("--junit - and --json - print only that report", async () => {
  const json = await conformance("--rule", "ids.limits", "--json", "-");
  expect(JSON.parse(json.stdout).rules).toHaveLength(1);
  const junit = await conformance("--rule", "ids.limits", "--junit", "-");
  expect(junit.stdout).toStartWith("<?xml ");
});

testIfInstalled("python3", "the JUnit report is XML, of any failure", async () => {
  using listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data: (socket) => {
        socket.write(
          Buffer.from(`HTTP/1.1 200 OK\r\nX: ]]>&"'<\x01\x7f\xff\r\n\r\n\uffff\0\x1b[31m<b>&amp;`, "latin1"),
        );
        socket.end();
      },
    },
  });
  const [junit, url] = [folder.file("hostile.xml"), `http://127.0.0.1:${listener.port}`];
  const { exitCode } = await runCommand([
    "conformance",
    "--url",
    url,
    "--token",
    token,
    "--junit",
    junit,
    "--basis",
    "all",
  ]);
  expect(exitCode).toBe(1);
  const script = `
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
assert root.tag == "testsuites"
for suite in root:
    cases = suite.findall("testcase")
    assert suite.tag == "testsuite" and int(suite.get("tests")) == len(cases) > 0
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))
    assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped"))
    assert all(case.get("name") and case.get("classname") and float(case.get("time")) >= 0 for case in cases)
    assert all(failure.get("message") and failure.text for failure in suite.iter("failure"))
print(root.get("tests"), int(root.get("failures")) > 0)
`;
  const parsed = await runIn(folder.path, [pathOf("python3") ?? "", "-c", script, junit]);
  expect(parsed).toEqual({ exitCode: 0, stdout: `${rules.length} True\n`, stderr: "" });
});

test("no report contains the token, or one that differs in a character, although the server repeats them", async () => {
  using listener = echo();
  const [junit, json] = [folder.file("secret.xml"), folder.file("secret.json")];
  const args = [
    "--url",
    `http://127.0.0.1:${listener.port}`,
    "--junit",
    junit,
    "--json",
    json,
    "--basis",
    "all",
  ];
  const { stdout, stderr } = await runCommand(["conformance", ...args], {
    PLANTSTORE_CONFORMANCE_TOKEN: token,
  });
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
    const { exitCode, stderr } = await commandError(["conformance", "--url", url, "--token", "x"]);
    expect(exitCode).toBe(3);
    expect(stderr).toMatch(/^plantstore: cannot connect to [^\n]+; start the server, or correct --url\n$/);
    expect(stderr).toMatch(reason);
  }
});

test("a report that cannot be written, or would replace another file, is an error before the run", async () => {
  const store = folder.file("other.db");
  writeFileSync(store, "SQLite format 3\0");
  const folders = folder.file("folder");
  mkdirSync(folders);
  for (const [option, path, message] of [
    ["--json", folder.file("no/folder.json"), "--json: the report could not be written: ENOENT"],
    ["--junit", folder.file("no/folder.xml"), "--junit: the report could not be written: ENOENT"],
    ["--json", store, `--json: ${store} exists, and is not such a report; choose another file`],
    ["--junit", store, `--junit: ${store} exists, and is not such a report; choose another file`],
    ["--json", folders, `--json: ${folders} is a directory; name a file`],
  ] as const) {
    // Nothing listens there: a run would say so.
    const { exitCode, stderr } = await commandError([
      ...["conformance", "--url", "http://127.0.0.1:1", "--token", "x", option, path],
    ]);
    expect(stderr).toStartWith(`plantstore: ${message}`);
    expect(exitCode).toBe(2);
  }
  expect(readFileSync(store, "utf8")).toBe("SQLite format 3\0");
});

test("a server that answers 201 is one headline", async () => {
  using listener = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const body = await request.json().catch(() => ({}));
      const { name, tag } = body as { name?: string; tag?: string };
      return Response.json({ name, tag }, { status: 201 });
    },
  });
  const args = [
    "--url",
    `http://127.0.0.1:${listener.port}`,
    "--token",
    token,
    "--skip",
    "contract.no-server-error",
  ];
  const { exitCode, stdout } = await runCommand(["conformance", ...args]);
  expect(exitCode).toBe(1);
  expect(stdout.match(/^FAIL expected the status 200, received 201 \(\d+ rules\)$/gm)).toHaveLength(1);
  expect(stdout.match(/^ {4}> POST/gm)?.length).toBeLessThan(10);
  expect(stdout.length).toBeLessThan(12_000);
});

test("hints explain many failures at once", async () => {
  const creates = ["--rule", "contract.create-with-tag,contract.create-without-tag"];
  const wrongToken = await runCommand(["conformance", "--url", server.url, "--token", "wrong", ...creates]);
  expect(wrongToken.stdout).toContain("--token may not be a token of this server");
  const wrongPath = server.url.replace(/v1$/, "v2");
  const { stdout } = await runCommand(["conformance", "--url", wrongPath, "--token", token, ...creates]);
  expect(stdout).toContain("--url must be the base address");
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
  [["--url", "http://127.0.0.1", "--token", "x", "--baseline", "/nonexistent"], "--baseline: ENOENT"],
  [
    ["--url", "http://127.0.0.1", "--token", "x", "--response-seconds-max", "0"],
    "is not an integer from 1 to 600",
  ],
];
test.each(usageErrors)("%j is a usage error", async (args, message) => {
  const { exitCode, stderr } = await commandError(["conformance", ...args]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(message);
  expect(stderr).toMatch(/^plantstore: [^\n]+\n$/);
});

test("a token that cannot be sent is a usage error that does not repeat it", async () => {
  const { exitCode, stderr } = await commandError(["conformance", "--url", server.url, "--token", "se cret"]);
  expect(exitCode).toBe(2);
  expect(stderr).toBe(
    "plantstore: --token: the value is not a token: one or more visible ASCII characters without spaces\n",
  );
});
