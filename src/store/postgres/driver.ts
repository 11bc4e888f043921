// The PostgreSQL client, and its streams for COPY. The one place that imports them.

export {
  Client,
  type ClientConfig,
  DatabaseError,
  escapeLiteral,
  Pool,
  type PoolClient,
  type PoolConfig,
} from "pg";
export { from as copyFrom, to as copyTo } from "pg-copy-streams";
