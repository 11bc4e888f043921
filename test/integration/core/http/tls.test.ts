// TLS on the public listener, with openssl as the client: the certificate, and its reload.

import { expect, spyOn, test } from "bun:test";
import { copyFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { CertificateReloader, readCertificate } from "../../../../src/core/http/certificate.ts";
import type { ServerEvent } from "../../../../src/core/observability/server-event.ts";
import { type KeyType, makeCertificate } from "../../../support/certificates.ts";
import { eventually } from "../../../support/eventually.ts";
import { plantJson } from "../../../support/http.ts";
import { describeIfInstalled, programPath } from "../../../support/programs.ts";
import { RunningServer, runCommand, runProgram, TemporaryFolder } from "../../../support/server.ts";
import { settled } from "../../../support/settled.ts";

const names = "DNS:localhost,IP:127.0.0.1";

async function openssl(...args: string[]): Promise<{ exitCode: number; text: string }> {
  const { exitCode, stdout, stderr } = await runProgram([programPath("openssl"), ...args]);
  return { exitCode, text: stdout + stderr };
}

/** Starts a server with a certificate in files that a test may change. */
async function startTls(keyType: KeyType = "ec") {
  await using resources = new AsyncDisposableStack();
  const folder = resources.use(new TemporaryFolder());
  const [certificate, key] = [folder.file("live.crt"), folder.file("live.key")];

  /** Replaces the server's pair, each file atomically, as certbot does. */
  function install(name: string): void {
    const made = makeCertificate(folder, name, `/CN=${name}`, names, keyType);
    renameSync(made.certificate, certificate);
    renameSync(made.key, key);
    copyFileSync(certificate, folder.file(`${name}.crt`));
  }

  install("first");
  const args = ["--tls-certificate", certificate, "--tls-key", key];
  const server = resources.use(await RunningServer.startInProcess({ args }));
  return Object.assign(resources.move(), { folder, certificate, key, server, install });
}

/** The subject of the certificate of a new connection. */
async function presentedBy({ url }: RunningServer): Promise<string | undefined> {
  const { text } = await openssl("s_client", "-connect", new URL(url).host);
  return /^subject=(.*)$/m.exec(text)?.[1];
}

async function postTo({ url }: RunningServer, token: string, body: string, authority: string) {
  const response = await fetch(`${url}/plants`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body,
    tls: { ca: await Bun.file(authority).text() },
  });
  return { status: response.status, text: await response.text() };
}

describeIfInstalled("openssl", "TLS", () => {
  test("plants are created over https, which openapi.json names", async () => {
    await using tls = await startTls();
    expect(tls.server.url).toStartWith("https://127.0.0.1:");
    const token = await tls.server.createToken();
    expect(await postTo(tls.server, token, plantJson(1n, "Monstera"), tls.folder.file("first.crt"))).toEqual({
      status: 200,
      text: '{"name":"Monstera"}',
    });
    const ca = await Bun.file(tls.folder.file("first.crt")).text();
    const description = await fetch(`${tls.server.url}/openapi.json`, { tls: { ca } });
    expect(await description.json()).toMatchObject({ servers: [{ url: tls.server.url }] });
  });

  test("a certificate without a subject, as Let's Encrypt issues, is named by its hosts", async () => {
    using folder = new TemporaryFolder();
    const { subject } = await readCertificate(makeCertificate(folder, "live", "/", names));
    expect(subject).toBe("DNS:localhost, IP Address:127.0.0.1");
  });

  test("a client that does not trust the certificate rejects it; the server rejects HTTP without TLS and old versions", async () => {
    await using tls = await startTls();
    expect(await settled(fetch(`${tls.server.url}/openapi.json`))).toThrow();
    expect(await settled(fetch(`${tls.server.url.replace("https", "http")}/openapi.json`))).toThrow();
    const { host } = new URL(tls.server.url);
    for (const version of ["-tls1", "-tls1_1"])
      expect((await openssl("s_client", version, "-connect", host)).exitCode).not.toBe(0);
    for (const version of ["-tls1_2", "-tls1_3"])
      expect((await openssl("s_client", version, "-connect", host)).exitCode).toBe(0);
  });

  test.each([
    ["ec", "ECDHE-ECDSA"],
    ["rsa", "ECDHE-RSA"],
  ] as const)(
    "with a key of type %s, TLS 1.2 has forward secrecy and authenticated encryption only",
    async (keyType, keyExchange) => {
      await using tls = await startTls(keyType);
      const { host } = new URL(tls.server.url);
      const negotiated = async (cipher: string) => {
        const { text } = await openssl("s_client", "-tls1_2", "-cipher", cipher, "-connect", host);
        return /Cipher is (.*)$/m.exec(text)?.[1];
      };
      for (const cipher of ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"])
        expect(await negotiated(`${keyExchange}-${cipher}`)).toBe(`${keyExchange}-${cipher}`);
      // CBC, static RSA, and both.
      for (const cipher of [
        `${keyExchange}-AES128-SHA`,
        `${keyExchange}-AES256-SHA`,
        "kRSA+AESGCM",
        "kRSA+AES",
      ])
        expect(await negotiated(`${cipher}:@SECLEVEL=0`)).toBe("(NONE)");
    },
  );

  test("new connections get a new certificate, and a request on an old connection is answered", async () => {
    await using tls = await startTls();
    const token = await tls.server.createToken();
    expect(await presentedBy(tls.server)).toBe("CN = first");
    const body = plantJson(1n, "slow");
    const answered = Promise.withResolvers<string>();
    let received = "";
    const { hostname, port } = new URL(tls.server.url);
    const secured = Promise.withResolvers<void>();
    const slow = await Bun.connect({
      hostname,
      port: Number(port),
      tls: { ca: await Bun.file(tls.certificate).text() },
      socket: {
        data(_, chunk) {
          received += chunk.toString();
        },
        handshake: () => secured.resolve(),
        close: () => answered.resolve(received),
      },
    });
    await secured.promise;
    slow.write(
      `POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    );
    tls.install("second");
    await tls.server.logged(({ subject }) => subject === "CN=second");
    for (let connection = 0; connection < 10; connection++)
      expect(await presentedBy(tls.server)).toBe("CN = second");
    slow.write(body.slice(5));
    const answer = await answered.promise;
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\{"name":"slow"\}$/);
    expect(answer.toLowerCase()).toContain("\r\nconnection: close\r\n");
    expect(
      (await postTo(tls.server, token, plantJson(2n, "Monstera"), tls.folder.file("second.crt"))).status,
    ).toBe(200);
    expect((await tls.server.stop()).exitCode).toBe(0);
  });

  test("a pair that is invalid or cannot be taken into use is reported once, and the next valid one is used", async () => {
    using folder = new TemporaryFolder();
    const files = makeCertificate(folder, "live", "/CN=first");
    const failures: string[] = [];
    const loaded: string[] = [];
    const failed = (count: number) => eventually("a failure", () => failures.length >= count);
    const use = () => {
      if (failures.length < 3) throw new Error("the port is gone");
    };
    const emit = (event: ServerEvent) => {
      if (event.kind === "certificateReloadFailed") failures.push(event.reason);
      if (event.kind === "certificateLoaded") loaded.push(event.subject);
    };
    const reloader = new CertificateReloader(await readCertificate(files), use, emit, 5);
    writeFileSync(files.key, "no PEM");
    await failed(1);
    const second = makeCertificate(folder, "second", "/CN=second");
    renameSync(second.key, files.key);
    await failed(2);
    renameSync(second.certificate, files.certificate);
    await eventually("the second is in use", () => loaded.length === 2);
    expect(loaded).toEqual(["CN=first", "CN=second"]);
    expect(failures).toEqual([
      expect.stringContaining("live.key cannot be used"),
      expect.stringContaining("is not that of the certificate"),
      "the port is gone",
    ]);
    reloader.stop();
  });

  test("a new certificate is not used after the stop, even if its files were being read then", async () => {
    using folder = new TemporaryFolder();
    const files = makeCertificate(folder, "live", "/CN=first");
    const first = await readCertificate(files);
    const used: string[] = [];
    using timers = spyOn(globalThis, "setInterval");
    const [stopped, running] = ["stopped", "running"].map(
      (name) =>
        new CertificateReloader(
          first,
          () => used.push(name),
          () => undefined,
        ),
    );
    const [pollStopped, pollRunning] = timers.mock.calls.map(([poll]) => poll as () => void);
    const second = makeCertificate(folder, "second", "/CN=second");
    renameSync(second.key, files.key);
    renameSync(second.certificate, files.certificate);
    pollStopped?.();
    stopped?.stop();
    pollRunning?.();
    await eventually("the other one uses it", () => used.includes("running"));
    expect(used).toEqual(["running"]);
    running?.stop();
  });

  test("polls do not overlap: a pair that is being replaced while reading takes long is not reported", async () => {
    using folder = new TemporaryFolder();
    const files = makeCertificate(folder, "live", "/CN=first");
    const first = await readCertificate(files);
    const kinds: string[] = [];
    using timers = spyOn(globalThis, "setInterval");
    const use = () => undefined;
    const reloader = new CertificateReloader(first, use, ({ kind }) => kinds.push(kind), 600_000);
    const [poll] = timers.mock.calls.map(([called]) => called as () => void);
    const second = makeCertificate(folder, "second", "/CN=second");
    renameSync(second.key, files.key);
    for (let polls = 0; polls < 3; polls++) poll?.();
    await Bun.sleep(100);
    renameSync(second.certificate, files.certificate);
    poll?.();
    await eventually("the second is in use", () => kinds.length > 1);
    expect(kinds).toEqual(["certificateLoaded", "certificateLoaded"]);
    reloader.stop();
  });

  test("missing files, files that are not a pair, and a port in use are errors in one line", async () => {
    await using tls = await startTls();
    const database = `sqlite:${tls.folder.file("other.db")}`;
    const other = makeCertificate(tls.folder, "other", "/CN=other");
    const fifo = tls.folder.file("fifo");
    Bun.spawnSync([programPath("mkfifo"), fifo]);
    const chain = tls.folder.file("chain.crt");
    writeFileSync(
      chain,
      `${readFileSync(tls.certificate, "utf8")}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
    );
    const serve = (...args: string[]) =>
      runCommand(["serve", "--port", "0", "--admin-port", "off", "--database", database, ...args]);
    for (const [key, message] of [
      [tls.folder.file("none.key"), "cannot be read (ENOENT); name a file in PEM"],
      [other.key, "is not that of the certificate"],
      [fifo, "is not a file; name a file in PEM"],
    ] as const) {
      const { exitCode, stderr } = await serve("--tls-certificate", tls.certificate, "--tls-key", key);
      expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining(message) });
    }
    const broken = await serve("--tls-certificate", chain, "--tls-key", tls.key);
    expect(broken).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("chain.crt cannot be used"),
    });
    const { port } = new URL(tls.server.url);
    const taken = await serve("--tls-certificate", tls.certificate, "--tls-key", tls.key, "--port", port);
    expect(taken).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("EADDRINUSE") });
  });
});
