// Kills of a worker, a server and the coordinator under creates and changes: nothing acknowledged is
// lost, and each change has its history.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { versionSql } from "../../../src/store/shared/plant-rows.ts";
import { CitusCluster, describeCitus } from "../../support/citus.ts";
import { contractFile, sendJson, tokenHeaders } from "../../support/contract-sandbox.ts";
import { eventually } from "../../support/eventually.ts";
import { createStore, RunningServer } from "../../support/server.ts";

/** `npm run faults` kills more often. */
const kills = Number(process.env.PLANTSTORE_TEST_KILLS ?? 2);
const contract = contractFile("members.yaml");
const clients = 12;
const answersBetween = 100;

describeCitus("kills in a Citus cluster", () => {
  let cluster: CitusCluster;
  beforeAll(async () => {
    cluster = await CitusCluster.start();
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  test.each(["worker", "server", "coordinator"] as const)(
    `${kills} kills of a %s lose nothing acknowledged, and no history`,
    async (victim) => {
      const { name, address: database } = await cluster.newDatabase();
      await createStore(database, { text: await Bun.file(contract).text() });
      await cluster.distribute(name);
      const query = (sql: string) => cluster.coordinator.query(name, sql);
      const start = () => RunningServer.start({ database, args: ["--contract", contract] });
      let server = await start();
      const headers = tokenHeaders(await server.createToken("ci"));
      const send = (method: string, path: string, body: object) =>
        sendJson(server.url + path, method, body, headers).catch(() => undefined);

      const created: string[] = [];
      /** The last level of each resource that was acknowledged. */
      const levels = new Map<string, number>();
      let answers = 0;
      let isEnding = false;
      const load = Array.from({ length: clients }, async () => {
        let own: string | undefined;
        for (let level = 0; !isEnding; level++) {
          const isChange = own !== undefined && level % 2 === 0;
          const answer = isChange
            ? await send("PATCH", `/members/${own}`, { level })
            : await send("POST", "/members", { name: "Ada" });
          if (answer === undefined || answer.status >= 300) {
            if (answer !== undefined) expect(answer.status).toBe(503);
            await Bun.sleep(20);
            continue;
          }
          answers++;
          if (isChange) levels.set(own as string, level);
          else {
            ({ id: own } = answer.json as { id: string });
            created.push(own);
          }
        }
      });
      const servesAgain = async () => {
        const before = answers;
        await eventually("there are answers", () => answers > before + answersBetween);
      };
      for (let kill = 0; kill < kills; kill++) {
        await servesAgain();
        const node = victim === "worker" ? cluster.workers[kill % 2] : cluster.coordinator;
        if (victim === "server") {
          await server.stop("SIGKILL");
          server = await start();
        } else {
          await node?.stop("SIGKILL");
          await node?.run();
        }
      }
      await servesAgain();
      isEnding = true;
      await Promise.all(load);
      await server[Symbol.asyncDispose]();

      // Citus finishes what it has prepared.
      await query("SELECT recover_prepared_transactions()");
      const rows = await query(
        `SELECT id, level, created_at << 20 AS first, ${versionSql} AS last FROM members`,
      );
      const edits = await query(
        `SELECT plant_id, version, version_before, after::json->>'level' AS level FROM edits ORDER BY version`,
      );
      const stored = new Map(rows.map((row) => [row.id as string, row]));
      expect(created.filter((id) => !stored.has(id))).toEqual([]);
      const ofPlant = Map.groupBy(edits, ({ plant_id: id }) => id as string);
      for (const [id, { level, first, last }] of stored) {
        const own = ofPlant.get(id) ?? [];
        // From its creation to its present version, each change follows the one before it.
        expect([first, ...own.map(({ version }) => version)]).toEqual([
          ...own.map(({ version_before: before }) => before),
          last,
        ]);
        expect(own.at(-1)?.level ?? null).toEqual(level === null ? null : String(level));
        expect(Number(level ?? 0)).toBeGreaterThanOrEqual(levels.get(id) ?? 0);
      }
      process.stdout.write(
        `${kills} kills of a ${victim}: ${created.length} creates and ${edits.length} changes, 0 lost\n`,
      );
    },
    120_000 + kills * 20_000,
  );
});
