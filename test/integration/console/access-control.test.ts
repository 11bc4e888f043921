// Access to the console: the checks of host, origin and password, the proxies it trusts, and its
// settings.

import { afterAll, expect, test } from "bun:test";
import { configurationError, usageError } from "../../support/configuration.ts";
import { ConsoleClient } from "../../support/console.ts";
import { TerminalProgram } from "../../support/output.ts";
import { sendRaw } from "../../support/raw-connection.ts";
import { plantstore, RunningServer, run, runCommand, TemporaryFolder } from "../../support/server.ts";

const password = "four random words it is";

/** A check of a hash at its default cost takes 0.1 s of processor time. */
const cheapHash = await Bun.password.hash(password, { algorithm: "argon2id", memoryCost: 8, timeCost: 1 });

const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
afterAll(() => resources.disposeAsync());

let stores = 0;
function startWith(...args: string[]): Promise<RunningServer> {
  const database = `sqlite:${folder.file(`plants-${++stores}.db`)}`;
  return RunningServer.startInProcess({ database, args });
}

/** A server without arguments, for the tests that change none of its settings. */
const plain = resources.use(await startWith());

test("the page and its files have a content security policy for this origin only", async () => {
  const url = await plain.adminUrl();
  const page = await fetch(`${url}/`);
  expect(page.url).toBe(`${url}/console/`);
  const policy = page.headers.get("content-security-policy")?.split("; ");
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy?.join()).not.toMatch(/unsafe|\*|https?:/);
  const text = await page.text();
  expect(text).not.toMatch(/<script(?![^>]*\ssrc=)|\son[a-z]+=|style=/);

  const addresses = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(
    ([, address = ""]) => new URL(address, page.url).href,
  );
  const seen = new Set<string>();
  for (const address of addresses) {
    const { status, headers } = await fetch(address);
    expect([status, headers.get("x-content-type-options")]).toEqual([200, "nosniff"]);
    seen.add(headers.get("content-type")?.split(";")[0] ?? "");
  }
  expect([...seen].toSorted()).toEqual(["image/svg+xml", "text/css", "text/javascript"]);
  expect((await fetch(`${url}/console/../../package.json`)).status).toBe(404);
  expect((await fetch(`${url}/console/tsconfig.json`)).status).toBe(404);
});

test("a Host that is not a name of this server is rejected on every path", async () => {
  await using server = await startWith("--admin-names", "console.plants.example, Other.Example");
  const url = await server.adminUrl();
  const { port } = new URL(url);
  const statusWith = async (host: string, path: string) =>
    Number(
      /^HTTP\/1.1 (\d+)/.exec(
        await sendRaw(url, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
      )?.[1],
    );
  for (const host of [
    "127.0.0.1",
    `127.0.0.1:${port}`,
    `localhost:${port}`,
    `[::1]:${port}`,
    "console.plants.example",
    "other.example:443",
  ])
    expect([host, await statusWith(host, "/console/api/session")]).toEqual([host, 200]);
  for (const host of [
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "127.0.0.1@evil.example",
    "evil.example:99999",
    "[::1",
    "console.plants.example.evil",
  ])
    for (const path of ["/console/", "/console/api/session", "/console/api/tokens", "/", "/metrics"])
      expect([host, path, await statusWith(host, path)]).toEqual([host, path, 421]);
});

test("writes are accepted only from the page, and reads from no other site", async () => {
  const url = await plain.adminUrl();
  const client = new ConsoleClient(url);
  const issue = (name: string, headers: Record<string, string>) =>
    client.write("tokens", { name, expires: "" }, headers);
  const rejected: Record<string, string>[] = [
    { "Sec-Fetch-Site": "cross-site" },
    { "Sec-Fetch-Site": "same-site" },
    { Origin: "https://evil.example" },
    { Origin: "null" },
    { Origin: url.replace("127.0.0.1", "localhost") },
  ];
  for (const headers of rejected) expect((await issue("attacker", headers)).status).toBe(403);
  expect((await issue("own", { Origin: url, "Sec-Fetch-Site": "same-origin" })).status).toBe(200);
  expect((await client.read("tokens", { "Sec-Fetch-Site": "cross-site" })).status).toBe(403);
  const preflight = await fetch(`${url}/console/api/tokens`, {
    method: "OPTIONS",
    headers: { Origin: "https://evil.example", "Access-Control-Request-Method": "POST" },
  });
  expect(preflight.headers.get("access-control-allow-origin")).toBeNull();
  const { json } = await client.read("tokens");
  expect((json as { name: string }[]).map(({ name }) => name)).not.toContain("attacker");
});

test("with a password the API requires a session, and probes do not", async () => {
  await using server = await startWith("--admin-password-hash", cheapHash, "--admin-host", "0.0.0.0");
  const url = (await server.adminUrl()).replace("0.0.0.0", "127.0.0.1");
  const anonymous = new ConsoleClient(url);
  for (const path of ["history", "plants?count=1", "plant?id=1", "tokens"])
    expect([path, (await anonymous.read(path)).status]).toEqual([path, 401]);
  expect((await anonymous.write("tokens", { name: "x", expires: "" })).status).toBe(401);
  expect((await anonymous.read("session")).json).toMatchObject({
    requiresPassword: true,
    isAuthenticated: false,
    contract: null,
  });
  for (const path of ["livez", "readyz", "metrics"]) expect((await fetch(`${url}/${path}`)).status).toBe(200);

  expect((await anonymous.write("session", { password: "wrong" })).status).toBe(403);
  const { headers } = await anonymous.write("session", { password }, { Origin: url });
  const cookie = headers.get("set-cookie") ?? "";
  expect(cookie).toMatch(/^plantstore_console_[\w-]{8}=[\w-]{43}; Max-Age=43200; HttpOnly; SameSite=Strict$/);
  const operator = new ConsoleClient(url, { Cookie: cookie.split(";")[0] ?? "" });
  expect((await operator.read("tokens")).status).toBe(200);
  const guess = cookie.replace(/=.*/, "=");
  expect((await anonymous.read("tokens", { Cookie: guess })).status).toBe(401);
  await operator.write("session-end", {});
  expect((await operator.read("tokens")).status).toBe(401);
  const overTls = await anonymous.write("session", { password }, { Origin: url.replace("http:", "https:") });
  expect(overTls.headers.get("set-cookie")).toEndWith("; HttpOnly; Secure; SameSite=Strict");

  // Attempts are counted before they are checked: the right password is rejected, too.
  for (let attempt = 4; attempt <= 5; attempt++)
    expect((await anonymous.write("session", { password: "wrong" })).status).toBe(403);
  expect((await anonymous.write("session", { password })).status).toBe(429);
  expect((await anonymous.write("session", { password: "x".repeat(5_000) })).status).toBe(413);
});

test("the headers of a trusted proxy tell clients apart, and those of other peers are ignored", async () => {
  for (const [trusted, expected] of [
    [["--trusted-proxies", "127.0.0.0/8, ::1"], 200],
    [[], 429],
  ] as const) {
    await using server = await startWith("--admin-password-hash", cheapHash, ...trusted);
    const client = await ConsoleClient.of(server);
    const attempt = async (value: string, headers: Record<string, string>) =>
      (await client.write("session", { password: value }, headers)).status;
    // A proxy appends to what the client has sent.
    for (let forged = 1; forged <= 5; forged++)
      expect(await attempt("wrong", { "X-Forwarded-For": `192.0.2.${forged}, 198.51.100.7` })).toBe(403);
    expect(await attempt(password, { "X-Forwarded-For": "192.0.2.9, 198.51.100.7" })).toBe(429);
    expect(await attempt(password, { "X-Forwarded-For": "[2001:db8::1]:4711" })).toBe(expected);
    expect(await attempt(password, { "X-Forwarded-For": "203.0.113.5" })).toBe(expected);
  }
});

test("a trusted proxy that is not an address is a configuration error", async () => {
  for (const value of ["proxy.example", "10.0.0.0/8,::/0", ""]) {
    const { exitCode, message } = configurationError(["--trusted-proxies", value]);
    expect([exitCode, message]).toEqual([
      2,
      expect.stringContaining("addresses or ranges such as 127.0.0.1"),
    ]);
  }
  const { stdout } = await runCommand(["config"], { PLANTSTORE_TRUSTED_PROXIES: "127.0.0.1, fd00::/8" });
  expect(stdout).toMatch(/PLANTSTORE_TRUSTED_PROXIES +.*127\.0\.0\.1.*fd00::\/8/);
});

test("a password has a minimum length, and only plantstore password prints its hash", async () => {
  expect(await run(["password"], {}, "too short\n")).toMatchObject({ exitCode: 1, stdout: "" });
  const result = await run(["password"], {}, `${password}\nanother line\n`);
  expect(result).toMatchObject({ exitCode: 0, stderr: "" });
  const hash = result.stdout.trim();
  expect(await Bun.password.verify(password, hash)).toBe(true);
  await Bun.write(folder.file("hash"), `${hash}\n`);
  const shown = await runCommand(["config"], { PLANTSTORE_ADMIN_PASSWORD_HASH_FILE: folder.file("hash") });
  expect(shown.stdout).toMatch(/PLANTSTORE_ADMIN_PASSWORD_HASH +\*\*\* +PLANTSTORE_ADMIN_PASSWORD_HASH_FILE/);
  const unquoted = configurationError([], { PLANTSTORE_ADMIN_PASSWORD_HASH: "=19=65536,t=2,p=1" });
  expect(unquoted).toEqual(usageError(expect.stringContaining("single quotes")));
});

test("the console can be turned off", async () => {
  await using server = await startWith("--console", "off");
  const url = await server.adminUrl();
  for (const path of ["/", "/console/", "/console/api/session"])
    expect((await fetch(url + path)).status).toBe(404);
  expect((await fetch(`${url}/metrics`)).status).toBe(200);
});

test("Ctrl-C ends the question for a password as it ends any program", async () => {
  const program = new TerminalProgram([plantstore, "password"]);
  await program.output.until((shown) => (shown.includes("Password of the console: ") ? true : undefined));
  program.type("\x03");
  expect(await program.exited).toBe(130);
  expect(await program.output.ended).not.toContain("plantstore: ");
});

test("a terminal does not echo a password", async () => {
  const program = new TerminalProgram([plantstore, "password"]);
  const shows = (text: string) => program.output.until((shown) => (shown.includes(text) ? shown : undefined));
  for (const question of ["Password of the console: ", "Repeat the password: "]) {
    await shows(question);
    program.type(`${password}\r`);
  }
  expect(await program.exited).toBe(0);
  expect(await shows("$argon2id$")).not.toContain("random");
});
