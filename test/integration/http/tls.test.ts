// TLS on the public listener, with openssl as the client.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { makeCertificate } from "../../support/certificates.ts";
import { plantJson, post } from "../../support/http.ts";
import { describeIfInstalled, programPath } from "../../support/programs.ts";
import { RunningServer, runCommand, runProgram, TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";

const names = "DNS:localhost,IP:127.0.0.1";

async function startTls() {
  await using resources = new AsyncDisposableStack();
  const folder = resources.use(new TemporaryFolder());
  const { certificate, key } = makeCertificate(folder, "live", "/CN=live", names);
  const args = ["--tls-certificate", certificate, "--tls-key", key];
  const server = resources.use(await RunningServer.startInProcess({ args }));
  const target = { ...(await server.target()), ca: await Bun.file(certificate).text() };
  /** Connects with openssl, and returns its exit code and output. */
  const connect = async (...options: readonly string[]) => {
    const client = [programPath("openssl"), "s_client", ...options, "-connect", new URL(server.url).host];
    const { exitCode, stdout, stderr } = await runProgram(client);
    return { exitCode, text: stdout + stderr };
  };
  return Object.assign(resources.move(), { folder, certificate, key, server, target, connect });
}

describeIfInstalled("openssl", "TLS", () => {
  test("plants are created over https, which openapi.json names, by clients that trust the certificate", async () => {
    await using tls = await startTls();
    expect(tls.server.url).toStartWith("https://127.0.0.1:");
    expect((await post(tls.target, plantJson(1n, "Monstera"))).status).toBe(200);
    const expiry = await tls.server.metric("plantstore_certificate_expiry_timestamp_seconds");
    expect(expiry).toBeGreaterThan(Date.now() / 1_000);
    const end = new Date(Number(expiry) * 1_000).toISOString();
    expect(await tls.server.logged(({ msg }) => msg.startsWith("the certificate expires"))).toMatchObject({
      level: "warn",
      reason: `it expires at ${end}`,
    });
    const description = await fetch(`${tls.server.url}/openapi.json`, { tls: { ca: tls.target.ca } });
    expect(await description.json()).toMatchObject({ servers: [{ url: tls.server.url }] });
    expect(await settled(fetch(tls.server.url))).toThrow();
    expect(await settled(fetch(tls.server.url.replace("https", "http")))).toThrow();
  });

  test("TLS 1.2 with forward secrecy and authenticated encryption, and TLS 1.3, only", async () => {
    await using tls = await startTls();
    for (const version of ["-tls1", "-tls1_1"]) expect((await tls.connect(version)).exitCode).not.toBe(0);
    expect((await tls.connect("-tls1_3")).exitCode).toBe(0);
    const negotiated = async (cipher: string) =>
      /Cipher is (.*)$/m.exec((await tls.connect("-tls1_2", "-cipher", cipher)).text)?.[1];
    const accepted = "ECDHE-ECDSA-AES128-GCM-SHA256";
    expect(await negotiated(accepted)).toBe(accepted);
    // CBC, and static RSA.
    for (const cipher of ["ECDHE-ECDSA-AES128-SHA", "kRSA"])
      expect(await negotiated(`${cipher}:@SECLEVEL=0`)).toBe("(NONE)");
  });

  test("missing files, files that are not a pair, and a port in use are errors in one line", async () => {
    await using tls = await startTls();
    const database = `sqlite:${tls.folder.file("other.db")}`;
    const other = makeCertificate(tls.folder, "other", "/CN=other");
    const chain = tls.folder.file("chain.crt");
    const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    writeFileSync(chain, tls.target.ca + broken);
    const { port } = new URL(tls.server.url);
    for (const [certificate, key, message, ...args] of [
      [tls.certificate, tls.folder.file("none.key"), "cannot be read (ENOENT); name a file in PEM"],
      [tls.certificate, other.key, "does not belong to the certificate"],
      [tls.certificate, tls.folder.path, "name a file in PEM"],
      [chain, tls.key, "chain.crt cannot be used"],
      [tls.certificate, tls.key, "EADDRINUSE", "--port", port],
    ] as const) {
      const files = ["--tls-certificate", certificate, "--tls-key", key, "--database", database];
      const serve = ["serve", "--port", "0", "--admin-port", "off", ...files, ...args];
      const { exitCode, stderr } = await runCommand(serve);
      expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining(message) });
    }
  });
});
