// Interrupted imports: by a signal, or by a store that cannot be reached. Running the command again
// continues them.

import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { createWriteStream, writeFileSync } from "node:fs";
import { engines } from "../../support/engines.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson } from "../../support/http.ts";
import { Output } from "../../support/output.ts";
import { PostgresServer } from "../../support/postgres.ts";
import { programPath } from "../../support/programs.ts";
import { createStore, plantstore, run, TemporaryFolder } from "../../support/server.ts";
import { storedCount } from "../../support/stored-plants.ts";

const lines = Array.from({ length: 50_000 }, (_, id) => `${plantJson(BigInt(id), `plant ${id}`)}\n`);
/** More than an import reads and commits at a time. */
const firstPart = lines.slice(0, 45_000).join("");

/** Waits for the first commit of an import. */
async function firstPlants(database: string): Promise<void> {
  await eventually(
    "imported plants",
    () => storedCount(database),
    (plants) => plants > 0,
  );
}

/** Starts a command in a folder. Its standard input stays open. */
function start(folder: TemporaryFolder, ...args: string[]) {
  return Bun.spawn([plantstore, ...args], {
    cwd: folder.path,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
}

/**
 * Starts an import of standard input, which stays open after the first part. Resolves after its
 * first commit.
 */
async function startImport(folder: TemporaryFolder, database: string) {
  await createStore(database);
  const child = start(folder, "import", "-", "--database", database);
  child.stdin.write(firstPart);
  await child.stdin.flush();
  await firstPlants(database);
  return {
    child,
    /** Sends the other part, and ends the input. */
    sendRest: async () => {
      child.stdin.write(lines.slice(45_000).join(""));
      await child.stdin.end();
    },
  };
}

for (const engine of engines) {
  for (const signal of ["SIGINT", "SIGHUP", "SIGKILL"] as const) {
    test(`${engine.name}: after ${signal} the same command continues`, async () => {
      using folder = new TemporaryFolder();
      await using place = await engine.createTestStore();
      await createStore(place.database);
      // A named pipe, so that the import waits for data in the middle of the file.
      const file = folder.file("plants.ndjson");
      spawnSync(programPath("mkfifo"), [file]);
      const child = Bun.spawn([plantstore, "import", file, "--database", place.database], { stderr: "pipe" });
      const pipe = createWriteStream(file);
      pipe.on("error", () => undefined);
      pipe.write(firstPart);
      await firstPlants(place.database);
      child.kill(signal);
      await child.exited;
      pipe.destroy();
      const stored = await storedCount(place.database);
      expect(stored).toBeGreaterThan(0);
      const text = await child.stderr.text();
      if (signal === "SIGKILL") expect(child.signalCode).toBe("SIGKILL");
      else {
        expect(child.exitCode).toBe(1);
        // On a slow machine lines of progress come before it.
        expect(text).toEndWith(
          `plantstore: interrupted; ${stored.toLocaleString("en")} created, 0 already stored, 0 rejected so far; run the same command again to continue\n`,
        );
      }

      writeFileSync(folder.file("whole.ndjson"), lines.join(""));
      const again = await run(["import", folder.file("whole.ndjson"), "--database", place.database]);
      const counts = /(\S+) created, (\S+) already stored, 0 rejected\n$/.exec(again.stderr) ?? [];
      const [created, unchanged] = counts.slice(1).map((count) => Number(count.replaceAll(",", "")));
      // A database may commit the batch in flight of a killed client after the plants are counted.
      if (signal === "SIGKILL") expect(unchanged).toBeGreaterThanOrEqual(stored);
      else expect(unchanged).toBe(stored);
      expect(created).toBe(lines.length - Number(unchanged));
    });
  }
}

test("an import ends although standard input stays open", async () => {
  using folder = new TemporaryFolder();
  const { child } = await startImport(folder, `sqlite:${folder.file("plants.db")}`);
  child.kill("SIGINT");
  expect(await child.stderr.text()).toContain("plantstore: interrupted; ");
  expect(await child.exited).toBe(1);
});

test("nor one that has failed", async () => {
  using folder = new TemporaryFolder();
  await createStore(`sqlite:${folder.file("plants.db")}`);
  const child = start(folder, "import", "-", "--format", "csv", "--database", "sqlite:plants.db");
  child.stdin.write("nonsense\n");
  await child.stdin.flush();
  expect(await child.stderr.text()).toStartWith("plantstore: the header has no column id");
  expect(await child.exited).toBe(1);
});

test("an import continues when the database is back within a minute", async () => {
  using folder = new TemporaryFolder();
  await using postgres = await PostgresServer.start();
  const database = `${postgres.address("postgres")}?retry_timeout=1`;
  const { child, sendRest } = await startImport(folder, database);
  await postgres.stop("SIGKILL");
  await sendRest();
  const errors = new Output(child.stderr);
  // The engine has given up.
  await errors.until((text) => (text.includes("trying again for a minute") ? text : undefined));
  await postgres.run();
  expect(await errors.ended).toEndWith("0 already stored, 0 rejected\n");
  expect(await child.exited).toBe(0);
  expect(await storedCount(database)).toBe(lines.length);
});

test("SIGINT ends an import that waits for a lost database", async () => {
  using folder = new TemporaryFolder();
  await using postgres = await PostgresServer.start();
  const database = `${postgres.address("postgres")}?connect_timeout=9999&retry_timeout=9999`;
  const { child, sendRest } = await startImport(folder, database);
  const port = Number(new URL(database).port);
  await postgres.stop("SIGKILL");
  const { promise: connected, resolve } = Promise.withResolvers<void>();
  const socket = { open: () => resolve(), data: () => undefined };
  using _ = Bun.listen({ hostname: "127.0.0.1", port, socket });
  await sendRest();
  await connected;
  child.kill("SIGINT");
  expect(await child.stderr.text()).toMatch(
    /^plantstore: interrupted; [\d,]+ created, 0 already stored, 0 rejected so far; run the same command again to continue\n$/m,
  );
  expect(await child.exited).toBe(1);
});

test("SIGINT ends an import whose database hangs while no statement runs", async () => {
  using folder = new TemporaryFolder();
  await using postgres = await PostgresServer.start();
  const database = postgres.address("postgres");
  const { child } = await startImport(folder, database);
  await eventually(
    "two whole batches are stored",
    () => storedCount(database),
    (plants) => plants === 40_000,
  );
  postgres.freeze();
  using _ = { [Symbol.dispose]: () => postgres.thaw() };
  child.kill("SIGINT");
  expect(await child.exited).toBe(1);
});
