// A real cluster with UUIDs: creates, gets and changes of a node go on while another one is down, and a
// change is stored with its history or not at all.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { dirname } from "node:path";
import { readShardMaps, type ShardMap } from "../../../src/store/citus/shard-map.ts";
import type { Queries } from "../../../src/store/postgres/host-pool.ts";
import { CitusCluster, describeCitus } from "../../support/citus.ts";
import { contractFile, sendJson, tokenHeaders } from "../../support/contract-sandbox.ts";
import { eventually } from "../../support/eventually.ts";
import { ShellSession, stoppingServers } from "../../support/guide.ts";
import { type Answer, send } from "../../support/http.ts";
import { codeBlocks } from "../../support/markdown.ts";
import { reservePort } from "../../support/ports.ts";
import type { PostgresServer } from "../../support/postgres.ts";
import { createStore, plantstore, RunningServer, TemporaryFolder } from "../../support/server.ts";

describeCitus("operations on Citus nodes", () => {
  let cluster: CitusCluster;
  beforeAll(async () => {
    cluster = await CitusCluster.start();
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  const nodeName = ({ port }: { port: number }) => `127.0.0.1:${port}`;
  const [contract] = [contractFile("members.yaml")];

  /** A store of its own with distributed members. */
  async function newStore() {
    const { name, address } = await cluster.newDatabase();
    await createStore(address, { text: await Bun.file(contract).text() });
    await cluster.distribute(name);
    const query = (sql: string) => cluster.coordinator.query(name, sql);
    return { address, query };
  }

  const start = async () => serve(await newStore());

  async function serve({ address, query }: Pick<Awaited<ReturnType<typeof newStore>>, "address" | "query">) {
    const server = await RunningServer.startInProcess({
      database: `${address}?retry_timeout=2`,
      args: ["--contract", contract],
    });
    const { url, token } = await server.target();
    const queries = { query: async (sql: string) => ({ rows: await query(sql) }) } as Queries;
    const map = (await readShardMaps(queries)).get("members") as ShardMap;
    const headers = tokenHeaders(token);
    return {
      address,
      query,
      map,
      server,
      headers,
      post: (body: object) => sendJson(`${url}/members`, "POST", body, headers),
      get: (id: string, as = headers) => send(`${url}/members/${id}`, { headers: as }),
      patch: (id: string, body: object) => sendJson(`${url}/members/${id}`, "PATCH", body, headers),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  }

  const idOf = ({ json }: Answer) => (json as { id: string }).id;

  test("each text is at the node that Citus names", async () => {
    await using service = await start();
    const texts = Array.from({ length: 2_000 }, (_, n) => `${"é".repeat(n % 5)}${crypto.randomUUID()}${n}`);
    const rows = await service.query(
      `SELECT id, nodename || ':' || nodeport AS node
       FROM unnest('{${texts.join(",")}}'::text[]) AS ids (id)
       JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column('members', id)
       JOIN pg_dist_node USING (groupid)`,
    );
    expect(rows).toHaveLength(texts.length);
    expect(rows.filter(({ id, node }) => service.map.nodeOf(id as string) !== node)).toEqual([]);
  });

  /** Reads and changes everything of the live node, beside what needs the other one. */
  async function assertOthersServed(
    service: Awaited<ReturnType<typeof start>>,
    isDead: (id: string) => boolean,
    ids: readonly string[],
  ): Promise<void> {
    const [dead, live] = [ids.filter(isDead), ids.filter((id) => !isDead(id))];
    expect(Math.min(dead.length, live.length)).toBeGreaterThan(20);
    const statuses = async (of: readonly string[], call: (id: string) => Promise<Answer>) => [
      ...new Set(await Promise.all(of.map(async (id) => (await call(id)).status))),
    ];
    for (let round = 0; round < 3; round++) {
      const change = (id: string) => service.patch(id, { level: round });
      expect(
        await Promise.all([
          statuses(live, (id) => service.get(id)),
          statuses(dead, (id) => service.get(id)),
          statuses(live, change),
          statuses(dead, change),
        ]),
      ).toEqual([[200], [503], [200], [503]]);
    }
    const created = await Promise.all(
      Array.from({ length: 100 }, (_, n) => service.post({ name: `New ${n}` })),
    );
    expect(created.filter(({ status }) => status === 201).length).toBeGreaterThan(20);
    for (const answer of created) expect([201, 503]).toContain(answer.status);
  }

  test.each(["killed", "frozen"])("a %s worker stops only what is its own", async (how) => {
    await using service = await start();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => service.post({ name: `Ada ${n}` })),
    );
    const ids = answers.map(idOf);
    const [worker] = cluster.workers;
    const isDead = (id: string) => service.map.nodeOf(id) === nodeName(worker);
    const adminUrl = await service.server.adminUrl();
    if (how === "killed") await worker.stop("SIGKILL");
    else worker.freeze();
    try {
      await eventually(
        "the node is down",
        async () => (await fetch(`${adminUrl}/metrics`)).text(),
        (text) => text.includes(`plantstore_node_up{node="${nodeName(worker)}"} 0`),
      );
      await assertOthersServed(service, isDead, ids);
      const ready = await fetch(`${adminUrl}/readyz`);
      expect([ready.status, await ready.text()]).toEqual([200, expect.stringContaining(nodeName(worker))]);
    } finally {
      await revive(worker, how);
    }
    const [dead = ""] = ids.filter(isDead);
    await eventually(
      "the node is back",
      () => service.get(dead),
      ({ status }) => status === 200,
    );
  });

  async function revive(worker: PostgresServer, how: string): Promise<void> {
    if (how === "killed") await worker.run();
    else worker.thaw();
  }

  test("the commands of docs/scaling.md make a store of distributed plants, and serve it", async () => {
    const { name, address } = await cluster.newDatabase();
    const page = await Bun.file(new URL("../../../docs/scaling.md", import.meta.url)).text();
    const block = codeBlocks(page).find(({ text }) => text.includes("create_distributed_table"));
    using folder = new TemporaryFolder();
    await using shell = new ShellSession(folder.path, {
      PATH: `${dirname(plantstore)}:${process.env.PATH}`,
      HOME: folder.path,
      PLANTSTORE_PORT: String(reservePort()),
      PLANTSTORE_ADMIN_PORT: String(reservePort()),
    });
    const script = block?.text.replaceAll(/postgres:\/\/\S+@coordinator\/plants/g, address) ?? "";
    expect(await shell.run(stoppingServers(script))).toEndWith("ready\n");
    const shards =
      "SELECT count(*)::int AS shards FROM pg_dist_shard WHERE logicalrelid = 'plants'::regclass";
    expect(await cluster.coordinator.query(name, shards)).toEqual([{ shards: 4 }]);
  });

  test("what docs/backup.md dumps is restored into distributed tables of a new store", async () => {
    await using service = await start();
    const ids = await Promise.all(
      Array.from({ length: 50 }, async (_, n) => idOf(await service.post({ name: `Ada ${n}` }))),
    );
    const [first = ""] = ids;
    expect((await service.patch(first, { level: 7 })).status).toBe(200);
    const page = await Bun.file(new URL("../../../docs/backup.md", import.meta.url)).text();
    const block = page.split("## Citus")[1]?.split("```sh\n")[1]?.split("```")[0] ?? "";
    const restored = await newStore();
    using folder = new TemporaryFolder();
    const script = block
      .replaceAll("postgres://owner@coordinator/plants", service.address)
      .replaceAll("postgres://owner@new-coordinator/plants", restored.address);
    const run = Bun.spawnSync(["sh", "-ec", script], { cwd: folder.path });
    expect([run.exitCode, run.stderr.toString()]).toEqual([0, ""]);
    await using again = await serve(restored);
    const answers = await Promise.all(ids.map((id) => again.get(id, service.headers)));
    expect([...new Set(answers.map(({ status }) => status))]).toEqual([200]);
    expect((await again.get(first, service.headers)).json).toMatchObject({ level: 7 });
    const distributed = "SELECT count(*)::int AS tables FROM pg_dist_partition WHERE partmethod = 'h'";
    expect(await restored.query(distributed)).toEqual([{ tables: 1 }]);
    expect(await restored.query("SELECT count(*)::int AS edits FROM edits")).toEqual([{ edits: 1 }]);
  });

  test("a change whose worker dies in the commit is there with its history, or neither is", async () => {
    await using service = await start();
    const [worker] = cluster.workers;
    const ids: string[] = [];
    while (ids.length < 3) {
      const id = idOf(await service.post({ name: "Ada" }));
      if (service.map.nodeOf(id) === nodeName(worker)) ids.push(id);
    }
    // The worker's commits wait for a standby that there is not.
    await worker.awaitMissingStandby();
    const changes = ids.map((id) => service.patch(id, { name: "Grace" }));
    await Bun.sleep(500);
    await worker.stop("SIGKILL");
    await Promise.all(changes);
    await worker.run();
    await worker.alterSystem("RESET synchronous_standby_names");
    for (const id of ids) {
      // Citus finishes what it has prepared.
      await service.query("SELECT recover_prepared_transactions()");
      const [row] = await service.query(`SELECT name FROM members WHERE id = '${id}'`);
      const edits = await service.query(`SELECT 1 FROM edits WHERE plant_id = '${id}'`);
      expect([id, row?.name, edits.length]).toEqual([
        id,
        ...(edits.length === 0 ? ["Ada", 0] : ["Grace", 1]),
      ]);
    }
  });
});
