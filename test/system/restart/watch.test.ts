// serve --watch and sandbox --watch: a contract file that changes is taken over, or its fault is said.

import { expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { shelves } from "../../support/contracts.ts";
import { eventually } from "../../support/eventually.ts";
import { programPath } from "../../support/programs.ts";
import {
  environment,
  plantstore,
  RunningServer,
  resultOf,
  runCommand,
  startProgram,
  TemporaryFolder,
} from "../../support/server.ts";

const name = { type: "string" };

/** A description of shelves that takes tokens, and has its schema in another file. */
function described(file: string): string {
  const document = JSON.parse(shelves({ name }).text);
  document.components = { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } };
  document.security = [{ bearer: [] }];
  document.paths["/shelves"].post.requestBody.content["application/json"].schema = { $ref: file };
  return JSON.stringify(document);
}

/** The schema of a shelf. */
function shelf(properties: object, required: readonly string[] = []): string {
  return JSON.stringify({
    type: "object",
    required: ["id", "name", ...required],
    properties: { id: { type: "integer" }, name, ...properties },
  });
}

function folderOf(): { folder: TemporaryFolder; file: string; schema: string } {
  const folder = new TemporaryFolder();
  mkdirSync(folder.file("schemas"));
  const [file, schema] = [folder.file("shelves.json"), folder.file("schemas/shelf.json")];
  writeFileSync(file, described("schemas/shelf.json"));
  writeFileSync(schema, shelf({}));
  return { folder, file, schema };
}

test("a server takes a changed file over, and goes on with the former one where it cannot", async () => {
  const { folder, file, schema } = folderOf();
  using _ = folder;
  // As a unit of systemd has it; the flag --database of the test comes before it.
  const env = { PLANTSTORE_DATABASE_FILE: "/run/credentials/plantstore/database" };
  await using server = await RunningServer.start({ args: ["--contract", file, "--watch"], env });
  const headers = {
    authorization: `Bearer ${await server.createToken()}`,
    "content-type": "application/json",
  };
  let id = 0;
  const create = async (body: object) => {
    const text = JSON.stringify({ id: ++id, ...body });
    return (await fetch(`${server.url}/shelves`, { method: "POST", headers, body: text })).status;
  };
  expect(await create({ name: "a", size: 3 })).toBe(200);
  writeFileSync(schema, shelf({ size: { type: "integer", maximum: 9 } }));
  await eventually("the size is checked", async () => (await create({ name: "a", size: 10 })) === 400);
  expect(await create({ name: "a", size: 3 })).toBe(200);
  for (const [text, fault] of [
    ["{", "shelf.json"],
    [shelf({ size: { type: "integer", maximum: 2 } }), "of its shelves do not fit /shelves"],
    [shelf({}), 'the contract no longer has "size"'],
  ] as const) {
    writeFileSync(schema, text);
    await server.logged(
      ({ msg }) => String(msg).startsWith(`${file} is not taken over: `) && String(msg).includes(fault),
    );
    expect(await create({ name: "a", size: 3 })).toBe(200);
  }
  rmSync(file);
  expect(Bun.spawnSync([programPath("mkfifo"), file]).exitCode).toBe(0);
  await server.logged(({ msg }) => String(msg).includes(`${file} is no file any more`));
  expect((await server.stop()).exitCode).toBe(0);
});

test("a sandbox starts anew at its address with a changed file", async () => {
  const { folder, file, schema } = folderOf();
  using _ = folder;
  const args = ["sandbox", "--contract", file, "--watch", "--port", "0", "--admin-port", "0"];
  const program = startProgram([plantstore, ...args], { env: environment({}) });
  const url = await program.stdout.until((text) => /^(http\S+)\n/.exec(text)?.[1]);
  const headers = { authorization: "Bearer sandbox", "content-type": "application/json" };
  const create = async (body: object) =>
    (
      await fetch(`${url}/shelves`, { method: "POST", headers, body: JSON.stringify(body) }).catch(
        () => undefined,
      )
    )?.status;
  expect(await create({ id: 1, name: "a", size: 10 })).toBe(200);
  writeFileSync(schema, shelf({ size: { type: "integer", maximum: 9 } }));
  await eventually("the size is checked", async () => (await create({ id: 2, name: "a", size: 10 })) === 400);
  writeFileSync(schema, "{");
  await program.stderr.until((text) => (text.includes("is not taken over") ? text : undefined));
  expect(await create({ id: 2, name: "a", size: 10 })).toBe(400);
  program.kill("SIGTERM");
  expect((await resultOf(program)).exitCode).toBe(0);
});

test("--watch needs a contract", async () => {
  for (const command of ["serve", "sandbox"])
    expect(await runCommand([command, "--watch", "--port", "0", "--admin-port", "off"])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("--watch needs the file of --contract"),
    });
});
