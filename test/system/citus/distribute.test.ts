// plantstore migrate --distribute citus: what it distributes, while servers run and twice at once,
// and what it rejects.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { Client } from "pg";
import { openServerStore, storeAt } from "../../../src/core/store/open-store.ts";
import { CitusCluster, type CitusDatabases, describeCitus, sharedCitus } from "../../support/citus.ts";
import { plantJson, post } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { createStore, RunningServer, runCommand, withStore } from "../../support/server.ts";
import { exported, storedCount, storePlants } from "../../support/stored-plants.ts";

const distribute = (address: string) => ["migrate", "--distribute", "citus", "--database", address];

const plants = Array.from({ length: 300 }, (_, id) => ({ id: BigInt(id) - 100n, name: `Fern ${id}` }));

describeCitus("plantstore migrate --distribute citus", () => {
  let cluster: CitusDatabases;
  beforeAll(async () => {
    cluster = await sharedCitus();
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  /** The tables of a store, and how Citus keeps them. */
  const tables = (database: string) =>
    cluster.coordinator.query(
      database,
      `SELECT relname AS name, partmethod AS method, repmodel AS replication,
              column_to_column_name(logicalrelid, partkey) AS distributed_by
       FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid ORDER BY relname`,
    );
  const distributed = [
    { name: "creators", method: "n", replication: "t", distributed_by: null },
    { name: "edits", method: "h", replication: "s", distributed_by: "plant_id" },
    { name: "plants", method: "h", replication: "s", distributed_by: "id" },
    { name: "plantstore_schema", method: "n", replication: "t", distributed_by: null },
    { name: "tokens", method: "n", replication: "t", distributed_by: null },
  ];

  test("distributes the plants that are stored, and every node serves them and the tokens", async () => {
    const { name, address } = await cluster.newDatabase();
    await storePlants(address, plants);
    const before = await exported(address);
    const first = await runCommand(distribute(address));
    expect(first).toMatchObject({ exitCode: 0, stdout: "" });
    expect(first.stderr).toEndWith(
      "Distributed the plants by id over 2 nodes of Citus; every node has the tokens.\n",
    );
    const second = await runCommand(distribute(address));
    expect(second).toMatchObject({ exitCode: 0, stdout: "" });
    expect(second.stderr).toEndWith("The plants are distributed by id over 2 nodes of Citus.\n");
    expect(await tables(name)).toEqual(distributed);
    // The rows that were copied are gone from the coordinator's own table.
    expect(await cluster.coordinator.query(name, "SELECT pg_relation_size('plants')::text AS bytes")).toEqual(
      [{ bytes: "0" }],
    );

    const [worker] = cluster.workers;
    if (worker === undefined) throw new Error("the cluster has no worker");
    const atWorker = worker.address(name);
    expect(await exported(atWorker)).toBe(before);
    await using server = await RunningServer.start({ database: atWorker, args: ["--migrate", "off"] });
    const token = await server.createToken("ci");
    for (const id of [-100n, 1_000n]) {
      const answer = await post({ url: server.url, token }, plantJson(id, id < 0n ? "Fern 0" : "Moss"));
      expect(answer.status).toBe(200);
    }
    const conflict = await post({ url: server.url, token }, plantJson(7n, "Moss"));
    expect(conflict.json).toMatchObject({ error: 40009 });
    const tokens = await Promise.all(
      cluster.nodes.map((node) => withStore(node.address(name), "existing", (store) => store.tokens.list())),
    );
    expect(tokens.map((list) => list.map((record) => record.name))).toEqual(Array(3).fill(["first", "ci"]));
    expect(await storedCount(address)).toBe(301);
  });

  test("runs twice at once, on a store that one of the two creates", async () => {
    const { name, address } = await cluster.newDatabase();
    const results = await Promise.all([runCommand(distribute(address)), runCommand(distribute(address))]);
    expect(results.map(({ exitCode, stdout }) => ({ exitCode, stdout }))).toEqual(
      Array(2).fill({ exitCode: 0, stdout: "" }),
    );
    expect(results.map(({ stderr }) => stderr.trimEnd().split("\n").at(-1) ?? "").toSorted()).toEqual([
      "Distributed the plants by id over 2 nodes of Citus; every node has the tokens.",
      "The plants are distributed by id over 2 nodes of Citus.",
    ]);
    expect(await tables(name)).toEqual(distributed);
  });

  test("loses no plant that a running server creates meanwhile", async () => {
    const { address } = await cluster.newDatabase();
    await using server = await RunningServer.start({ database: address });
    const target = await server.target();
    const load = new Load();
    load.start([target], 8);
    await load.acknowledgedMore(100);
    expect(await runCommand(distribute(address))).toMatchObject({ exitCode: 0 });
    await load.acknowledgedMore(100);
    await load.stop();
    expect(load.audit(await exported(address))).toEqual([]);
  });

  test("a role that does not own the tables cannot distribute them", async () => {
    const { name, address } = await cluster.newDatabase();
    await createStore(address);
    const role = `server_${name}`;
    await cluster.coordinator.query(name, `CREATE USER ${role}`);
    await cluster.coordinator.query(name, `GRANT SELECT ON plantstore_schema TO ${role}`);
    const { stderr } = await runCommand(distribute(address.replace("postgres@", `${role}@`)));
    expect(stderr).toMatch(
      /^plantstore: Citus cannot distribute the store: .+; run it as the owner of the tables, a role that every node lets in$/m,
    );
  });

  test("tokens that two nodes change at the same time have revisions of their own, and one name has one token", async () => {
    const { name, address } = await cluster.newDatabase();
    await createStore(address);
    await storeAt(address).distribute?.();
    const fail = (reason: unknown): never => {
      throw new Error(`the store failed: ${reason}`);
    };
    await using stack = new AsyncDisposableStack();
    const stores = await Promise.all(
      cluster.nodes.map(async (node) => {
        const events = { onUnavailable: fail, onFailed: fail, onDegraded: () => undefined };
        return stack.use(await openServerStore(node.address(name), "writable", events));
      }),
    );
    for (let round = 0; round < 5; round++) {
      const added = await Promise.all(
        stores.map(({ tokens }, index) =>
          tokens.add({ hash: `${round}-${index}`, name: `ci-${round}`, createdAt: 1, expiresAt: null }),
        ),
      );
      expect(added.filter(Boolean)).toHaveLength(1);
    }
    const copies = await Promise.all(
      cluster.nodes.map((node) => node.query(name, "SELECT name, revision FROM tokens ORDER BY revision")),
    );
    expect(copies[0]).toEqual(
      [0, 1, 2, 3, 4].map((round) => ({ name: `ci-${round}`, revision: `${round + 1}` })),
    );
    expect(copies).toEqual(Array(3).fill(copies[0]));
  });

  const otherwise =
    "Citus has the table plants otherwise than by id; run SELECT undistribute_table('plants') on the coordinator, and then this again";

  /** What a store must be made for the command to reject it, and the line that it prints. */
  const rejections: readonly (readonly [string, readonly string[], string | RegExp])[] = [
    [
      "plants distributed by another column",
      ["ALTER TABLE plants DROP CONSTRAINT plants_pkey", "SELECT create_distributed_table('plants', 'name')"],
      otherwise,
    ],
    ["plants as a reference table", ["SELECT create_reference_table('plants')"], otherwise],
    [
      "plants in one shard",
      ["SELECT create_distributed_table('plants', null, colocate_with => 'none')"],
      otherwise,
    ],
    [
      "distributed tokens",
      ["SELECT create_distributed_table('tokens', 'hash')"],
      "Citus has the table tokens otherwise than as a reference table; run SELECT undistribute_table('tokens') on the coordinator, and then this again",
    ],
    [
      "a worker without the metadata",
      ["SELECT stop_metadata_sync_to_node(nodename, nodeport) FROM pg_dist_node WHERE groupid = 1"],
      /^the node 127\.0\.0\.1:\d+ of Citus is not active, or lacks the metadata; run SELECT citus_activate_node\(…\) or start_metadata_sync_to_all_nodes\(\), and then this again$/,
    ],
    [
      "a lock on the table",
      [],
      "another transaction holds a lock on a table of the store, perhaps a backup; try again when it has ended",
    ],
  ];
  test.each(rejections)("rejects %s", async (what, statements, message) => {
    const { name, address } = await cluster.newDatabase();
    await createStore(address);
    for (const sql of statements) await cluster.coordinator.query(name, sql);
    await using stack = new AsyncDisposableStack();
    if (what === "a lock on the table") {
      const other = new Client({ connectionString: address });
      stack.defer(() => other.end());
      await other.connect();
      await other.query("BEGIN; LOCK TABLE plants");
    }
    const { exitCode, stderr } = await runCommand(distribute(address));
    const line = /^plantstore: (.+)$/m.exec(stderr)?.[1];
    if (typeof message === "string") expect(line).toBe(message);
    else expect(line).toMatch(message);
    expect(exitCode).toBe(1);
  });

  test("is run on the coordinator, also to create the schema", async () => {
    const { name, address } = await cluster.newDatabase();
    const [worker] = cluster.workers;
    if (worker === undefined) throw new Error("the cluster has no worker");
    const message = `plantstore: this node is a worker of Citus, and only the coordinator can change the schema; name 127.0.0.1:${cluster.coordinator.port} alone in --database\n`;
    const atWorker = worker.address(name);
    expect(await runCommand(["migrate", "--database", atWorker])).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: message,
    });
    await createStore(address);
    await storeAt(address).distribute?.();
    expect(await runCommand(distribute(atWorker))).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(message),
    });
  });

  test("names the node that cannot be reached, and changes nothing", async () => {
    await using ownCluster = await CitusCluster.start();
    const { name, address } = await ownCluster.newDatabase();
    await storePlants(address, plants);
    const before = await exported(address);
    const [worker] = ownCluster.workers;
    await worker.stop("SIGKILL");
    const { exitCode, stderr } = await runCommand(distribute(address));
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^plantstore: Citus cannot distribute the store: .+$/m);
    expect(stderr).toContain(String(worker.port));
    expect(await exported(address)).toBe(before);
    await worker.run();
    expect(await runCommand(distribute(address))).toMatchObject({ exitCode: 0 });
    expect(await exported(address)).toBe(before);
    expect(
      await ownCluster.coordinator.query(name, "SELECT count(*)::int AS count FROM pg_dist_partition"),
    ).toEqual([{ count: distributed.length }]);
  });
});
