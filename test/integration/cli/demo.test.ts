// plantstore demo: a store in a temporary folder, which is gone afterwards.

import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { startDemoTraffic } from "../../../src/cli/commands/demo-traffic.ts";
import { readCertificate } from "../../../src/process/certificate.ts";
import { makeCertificate } from "../../support/certificates.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { Output } from "../../support/output.ts";
import { testIfInstalled } from "../../support/programs.ts";
import { plantstore, run, runCommand, TemporaryFolder } from "../../support/server.ts";

test.each(["SIGTERM", "SIGINT"] as const)(
  "after %s the folder of a demonstration is gone",
  async (signal) => {
    using temporary = new TemporaryFolder();
    const child = Bun.spawn([plantstore, "demo"], {
      // A store of the operator is not touched.
      env: {
        PATH: process.env.PATH ?? "",
        TMPDIR: temporary.path,
        PLANTSTORE_DATABASE: "sqlite:/nowhere/plants.db",
        http_proxy: "http://127.0.0.1:1",
      },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const shown = await new Output(child.stdout).until((text) =>
      text.includes("console/\n") ? text : undefined,
    );
    const [url = ""] = shown.split("\n");
    // Free ones, as a server may have those of the settings.
    expect(["8080", "8081"]).not.toContain(new URL(url).port);
    const [name = ""] = readdirSync(temporary.path);
    const folder = temporary.file(name);
    const announced = await new Output(child.stderr).until((text) =>
      text.includes("\n") ? text : undefined,
    );
    expect(announced).toStartWith(
      `A demonstration: its 12 plants and ${folder} are removed when the server stops.\n`,
    );
    const get = (id: string) => runCommand(["get", id, "--database", `sqlite:${folder}/plantstore.db`]);
    await eventually(
      "a plant of a client is stored",
      async () => (await get("9007199254740993")).stdout !== "",
    );
    const target = { url, token: /pst_[\w-]{43}/.exec(shown)?.[0] ?? "" };
    // Another plant has the id 1.
    expect((await post(target, plantJson(1n, "Mine"))).json).toMatchObject({ error: 40009 });
    expect((await post(target, plantJson(99n, "Mine"))).status).toBe(200);
    expect((await get("1")).stdout).toBe('{"id":1,"name":"Monstera deliciosa","tag":"tropical"}\n');
    child.kill(signal);
    await child.exited;
    expect(readdirSync(temporary.path)).toEqual([]);
  },
);

test("a demonstration that is interrupted while it starts leaves no folder", async () => {
  using temporary = new TemporaryFolder();
  const env = { PATH: process.env.PATH ?? "", TMPDIR: temporary.path };
  const child = Bun.spawn([plantstore, "demo"], { env, stdio: ["ignore", "ignore", "ignore"] });
  await eventually("there is a folder", () => readdirSync(temporary.path).length > 0);
  child.kill("SIGINT");
  await child.exited;
  expect(readdirSync(temporary.path)).toEqual([]);
});

test("where no temporary folder can be created, a demonstration says so in one line", async () => {
  expect(await run(["demo"], { TMPDIR: "/dev/null" })).toEqual({
    exitCode: 1,
    stdout: "",
    stderr:
      "plantstore: the demonstration cannot create a folder in /dev/null (ENOTDIR); set TMPDIR to a folder that is writable\n",
  });
});

testIfInstalled("openssl", "a demonstration has plants of two clients to show, also over TLS", async () => {
  using folder = new TemporaryFolder();
  // No client of this machine trusts it.
  const { certificate: file, key } = makeCertificate(folder, "site", "/CN=plants.example");
  const certificate = await readCertificate(file, key);
  await using server = await startInProcess({ listener: { host: "127.0.0.1", port: 0, certificate } });
  await using _ = startDemoTraffic(server.url, server.store, 20);
  const created = () =>
    server.events.flatMap((event) =>
      event.kind === "requestCompleted" && event.request.result === "created" ? [event.request.caller] : [],
    );
  await eventually("plants are created", () => created().length > 50);
  expect(new Set(created())).toEqual(new Set(["garden-center", "greenhouse"]));
});
