// A worker of Citus that is killed and started again.

import { expect, test } from "bun:test";
import { CitusCluster, describeCitus } from "../../support/citus.ts";

describeCitus("a lost worker of Citus", () => {
  test("the other worker keeps the half of the plants that it has, and none is lost", async () => {
    await using cluster = await CitusCluster.start();
    const { coordinator, workers } = cluster;
    const { name: database } = await cluster.newDatabase();
    const query = (sql: string) => coordinator.query(database, sql);
    await query("CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)");
    await query("SELECT create_distributed_table('plants', 'id')");
    await query("INSERT INTO plants SELECT n, 'Fern' FROM generate_series(1, 100) AS n");
    await workers[0].stop("SIGKILL");
    const [, other] = workers;
    const held = await query(
      `SELECT id FROM generate_series(1, 100) AS id
       JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column('plants', id)
       JOIN pg_dist_node USING (groupid) WHERE nodeport = ${other.port}`,
    );
    expect(held.length).toBeWithin(20, 80);
    for (const { id } of held)
      expect(await query(`SELECT name FROM plants WHERE id = ${id}`)).toHaveLength(1);
    await workers[0].run();
    expect(await query("SELECT count(*) AS count FROM plants")).toEqual([{ count: "100" }]);
  });
});
