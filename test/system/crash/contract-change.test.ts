// A contract that changes under load, and kill -9 of the command that changes it and of the server that
// takes it over: the store has all of the former contract or all of the new one, with each plant.

import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { objectOf, thingsDocument } from "../../support/descriptions.ts";
import { engines } from "../../support/engines.ts";
import { Load } from "../../support/load.ts";
import { Random } from "../../support/random.ts";
import {
  environment,
  plantstore,
  RunningServer,
  resultOf,
  runCommand,
  startProgram,
  TemporaryFolder,
} from "../../support/server.ts";

const kills = Number(process.env.PLANTSTORE_TEST_KILLS ?? 5);
/** The moments of the kills; a run prints it. */
const seed = Number(process.env.PLANTSTORE_TEST_SEED ?? Date.now() % 1e9);
const storedBefore = 20_000;
const connections = 8;
/** A server looks for another contract each second. */
const takeOverMs = 1_200;

const folder = new TemporaryFolder();
afterAll(() => folder[Symbol.dispose]());

/** The field that is renamed, in each of the two contracts. Each also has a field that the other drops. */
const names = ["colour", "shade"] as const;
const [text, id] = [{ type: "string" }, { type: "integer", format: "int64" }];
const files = names.map((name) => {
  const schema = objectOf({ id, name: text, tag: text, [name]: text, [`only_${name}`]: text }, [
    "id",
    "name",
  ]);
  const { paths, ...document } = thingsDocument({
    body: schema,
    more: { components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } } },
    post: { security: [{ token: [] }] },
  }) as { paths: Record<string, unknown> };
  const file = folder.file(`${name}.json`);
  writeFileSync(file, JSON.stringify({ ...document, paths: { "/plants": paths["/things"] } }));
  return file;
});

describe.each(engines.filter(({ name }) => name !== "citus"))("on $name", ({ createTestStore }) => {
  test(
    `${kills} kills lose nothing, and mix no contracts (PLANTSTORE_TEST_SEED=${seed})`,
    async () => {
      await using place = await createTestStore();
      const { database } = place;
      const random = new Random(seed);
      const load = new Load();
      const migrate = (to: number) => {
        const [before, after] = [names[1 - to], names[to]];
        const changes = ["--rename-fields", `${before}=${after}`, "--drop-fields", `only_${before}`];
        const command = [plantstore, "migrate", "--database", database, "--contract", files[to] ?? ""];
        return startProgram([...command, ...changes], { env: environment({}) });
      };
      /** The contract that the store has, by the plants in it, of which each must be as it was sent. */
      const contractNow = async (): Promise<number> => {
        const { exitCode, stdout, stderr } = await runCommand(["export", "--database", database]);
        expect([exitCode, stderr]).toEqual([0, ""]);
        const found = names.filter((name) => stdout.includes(`"${name}":`));
        expect(found).toHaveLength(1);
        expect(load.audit(stdout.replaceAll(`"${found}":`, `"${names[0]}":`))).toEqual([]);
        return names.indexOf(found[0] ?? names[0]);
      };

      const first = await RunningServer.start({ database, args: ["--contract", files[0] ?? ""] });
      const token = await first.createToken();
      await first.stop();
      const file = folder.file(`${storedBefore}.ndjson`);
      const lines = Array.from(
        { length: storedBefore },
        (_, at) => `{"id":${at},"name":"n","colour":"c${at}"}`,
      );
      writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
      for (const [at, line] of lines.entries()) load.sent.set(BigInt(at), line);
      expect((await runCommand(["import", file, "--quiet", "--database", database])).exitCode).toBe(0);
      const start = performance.now();
      expect((await resultOf(migrate(1))).exitCode).toBe(0);
      const migrateMs = performance.now() - start;

      let now = 1;
      for (let kill = 0; kill < kills; kill++) {
        await using server = await RunningServer.start({ database });
        load.startUntilGone([{ url: server.url, token }], connections);
        await load.acknowledgedMore(11);
        const migrating = migrate(1 - now);
        // One kill hits the command, the next one the server, while or after the command changes the store.
        await Bun.sleep(random.between(0, migrateMs * 1.2 + (kill % 2) * takeOverMs));
        if (kill % 2 === 0) migrating.kill("SIGKILL");
        await server.stop("SIGKILL");
        await Promise.all([resultOf(migrating), load.ended()]);
        now = await contractNow();
      }
      await using last = await RunningServer.start({ database });
      load.startUntilGone([{ url: last.url, token }], connections);
      await load.acknowledgedMore(1);
      await last.stop();
      await load.ended();
      expect(await contractNow()).toBe(now);
    },
    60_000 + kills * 15_000,
  );
});
