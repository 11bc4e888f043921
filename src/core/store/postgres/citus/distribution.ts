// Distributes a store over the nodes of a Citus cluster: plants by id, with their edits, and the
// other tables as reference tables. Every node has a copy of those, so that a server can use any
// node while the coordinator is down.

import { OperatorError } from "../../../operator-error.ts";
import type { StoreWait } from "../../plant-store.ts";
import type { Queries } from "../connection.ts";
import { parsePostgresUrl } from "../connection-url.ts";
import { DatabaseError } from "../driver.ts";
import { isLockTimeout, oneLine, rejectForOperator } from "../errors.ts";
import { schemaLock } from "../migrations.ts";
import { Primary } from "../primary.ts";
import { citusVersionMin } from "./shard-map.ts";

/** The time limit of each statement: a large table is copied. */
const distributeMsMax = 24 * 3_600_000;

/** How long it waits for the lock on a table: creates queue behind it. */
const lockMsMax = 500;

const insufficientPrivilege = "42501";

/** Connection exceptions, which Citus reports of another node. */
const nodeLostState = /^08/;

/** How Citus keeps a table; undefined if it is not distributed. */
type Method = "by id" | "as a reference table" | "otherwise" | undefined;

/** The reference tables first. */
const tables = ["plantstore_schema", "tokens", "token_version", "creators", "plants", "edits"];

/** The column of each table that is distributed by the ids of plants; `edits` with the plants. */
const idColumns: Readonly<Record<string, string>> = { plants: "id", edits: "plant_id" };

export interface Distribution {
  /** The nodes that have plants. */
  readonly nodes: number;
  /** False if the store was distributed before. */
  readonly hasChanged: boolean;
}

/** Distributes the store at a URL without its scheme. See StoreAddress. */
export async function distribute(address: string, wait: StoreWait): Promise<Distribution> {
  const primary = new Primary(parsePostgresUrl(address), wait);
  const options = { mode: "ISOLATION LEVEL READ COMMITTED", statementMs: distributeMsMax };
  try {
    const distributing = primary.once((pool) => pool.transaction(distributeTables, options));
    return await distributing.catch(explain).catch(rejectForOperator);
  } finally {
    await primary.close();
  }
}

/** Rejects with an OperatorError on a worker, whose new tables other nodes do not know. */
export async function assertNotWorker(connection: Queries): Promise<void> {
  if ((await citusVersion(connection)) === undefined) return;
  const { rows } = await connection.query<{ coordinator: string | null }>(
    `SELECT (SELECT nodename || ':' || nodeport FROM pg_dist_node WHERE groupid = 0 LIMIT 1) AS coordinator
     FROM pg_dist_local_group WHERE groupid <> 0`,
  );
  const [worker] = rows;
  if (worker === undefined) return;
  throw new OperatorError(
    `this node is a worker of Citus, and only the coordinator can change the schema; name ${worker.coordinator ?? "the coordinator"} alone in --database`,
  );
}

async function distributeTables(connection: Queries): Promise<Distribution> {
  await assertCitus(connection);
  // A second distribution waits here, and then finds the tables distributed.
  await connection.query("SELECT set_config('lock_timeout', '0', true)");
  await connection.query(`SELECT pg_advisory_xact_lock(${schemaLock})`);
  await connection.query(`SELECT set_config('lock_timeout', '${lockMsMax}', true)`);
  const methods = await methodsOf(connection);
  const changed = tables.filter((table) => mustDistribute(table, methods.get(table)));
  if (changed.length > 0) await assertDistributable(connection);
  for (const table of changed) await distributeTable(connection, table);
  // The rows that filled the shards are still on the coordinator. Last, as it keeps readers out.
  for (const table of changed)
    await connection.query(`SELECT truncate_local_data_after_distributing_table('${table}')`);
  const nodes = await countNodes(connection);
  return { nodes, hasChanged: changed.length > 0 };
}

async function assertCitus(connection: Queries): Promise<void> {
  const version = await citusVersion(connection);
  if (version === undefined) {
    throw new OperatorError(
      "this database has no Citus; run CREATE EXTENSION citus in it on every node, and SELECT citus_add_node(…) on the coordinator",
    );
  }
  if (Number.parseInt(version, 10) < citusVersionMin) {
    throw new OperatorError(
      `this database has Citus ${version}, whose workers do not know where the plants are; upgrade it to ${citusVersionMin} or newer`,
    );
  }
  await assertNotWorker(connection);
}

/** The version of Citus in this database; undefined if it has none. */
export async function citusVersion(connection: Queries): Promise<string | undefined> {
  const { rows } = await connection.query<{ version: string }>(
    "SELECT extversion AS version FROM pg_extension WHERE extname = 'citus'",
  );
  return rows[0]?.version;
}

async function distributeTable(connection: Queries, table: string): Promise<void> {
  const column = idColumns[table];
  const colocation = table === "plants" ? "none" : "plants";
  const call =
    column === undefined
      ? `create_reference_table('${table}')`
      : `create_distributed_table('${table}', '${column}', colocate_with => '${colocation}')`;
  // Citus rejects a reference table after parallel work in the transaction; a copy is as fast.
  await connection.query("SELECT set_config('citus.multi_shard_modify_mode', 'sequential', true)");
  await connection.query(`SELECT ${call}`);
}

function methodFor(table: string): Method {
  return idColumns[table] === undefined ? "as a reference table" : "by id";
}

/** Whether a table is still to be distributed; throws an OperatorError if it is otherwise. */
function mustDistribute(table: string, method: Method): boolean {
  const wanted = methodFor(table);
  if (method === wanted || method === undefined) return method === undefined;
  throw new OperatorError(
    `Citus has the table ${table} otherwise than ${wanted}; run SELECT undistribute_table('${table}') on the coordinator, and then this again`,
  );
}

/** By the columns partmethod and repmodel of pg_dist_partition, as Citus' manual lists them. */
async function methodsOf(connection: Queries): Promise<Map<string, Method>> {
  const { rows } = await connection.query<{ name: string; column: string | null; method: Method | null }>(
    `SELECT name, column_to_column_name(logicalrelid, partkey) AS column,
            CASE WHEN partmethod = 'h' THEN 'by id'
                 WHEN partmethod = 'n' AND repmodel = 't' THEN 'as a reference table'
                 WHEN NOT (partmethod = 'n' AND colocationid = 0) THEN 'otherwise' END AS method
     FROM unnest($1::text[]) AS name LEFT JOIN pg_dist_partition ON logicalrelid = to_regclass(name)`,
    [tables],
  );
  return new Map(
    rows.map(({ name, column, method }) => [
      name,
      method === "by id" && column !== idColumns[name] ? "otherwise" : (method ?? undefined),
    ]),
  );
}

/** Throws an OperatorError that names what Citus would reject less clearly, or accept. */
async function assertDistributable(connection: Queries): Promise<void> {
  const { rows } = await connection.query<{ node: string }>(
    `SELECT nodename || ':' || nodeport AS node FROM pg_dist_node
     WHERE noderole = 'primary' AND NOT (isactive AND hasmetadata AND metadatasynced) ORDER BY node LIMIT 1`,
  );
  const [{ node } = {}] = rows;
  if (node !== undefined) {
    throw new OperatorError(
      `the node ${node} of Citus is not active, or lacks the metadata; run SELECT citus_activate_node(…) or start_metadata_sync_to_all_nodes(), and then this again`,
    );
  }
}

/** The nodes that have plants. */
async function countNodes(connection: Queries): Promise<number> {
  const { rows } = await connection.query<{ nodes: string }>(
    `SELECT count(DISTINCT groupid) AS nodes FROM pg_dist_placement JOIN pg_dist_shard USING (shardid)
     WHERE shardstate = 1 AND logicalrelid = 'plants'::regclass`,
  );
  return Number(rows[0]?.nodes);
}

function explain(error: unknown): never {
  if (isLockTimeout(error)) {
    throw new OperatorError(
      "another transaction holds a lock on a table of the store, perhaps a backup; try again when it has ended",
    );
  }
  if (!(error instanceof DatabaseError)) throw error;
  const advice = adviceFor(error.code ?? "");
  throw new OperatorError(
    `Citus cannot distribute the store: ${oneLine(error.message)} (${error.code}); ${advice}`,
  );
}

function adviceFor(code: string): string {
  if (code === insufficientPrivilege)
    return "run it as the owner of the tables, a role that every node lets in";
  if (nodeLostState.test(code))
    return "start that node, or remove it with citus_remove_node, and run it again";
  return "nothing was changed; fix the cause, and run it again";
}
