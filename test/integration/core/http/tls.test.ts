// TLS on the public listener, with openssl as the client: the certificate, and its reload.

import { expect, test } from "bun:test";
import { copyFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { readCertificate } from "../../../../src/core/http/certificate.ts";
import { type KeyType, makeCertificate } from "../../../support/certificates.ts";
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
