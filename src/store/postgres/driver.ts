// The PostgreSQL client, and its streams for COPY. The one place that imports them.

export {
  Client,
  type ClientConfig,
  Connection,
  DatabaseError,
  escapeLiteral,
  Pool,
  type PoolClient,
  Query,
  type QueryConfig,
  type Submittable,
} from "pg";
export { from as copyFrom, to as copyTo } from "pg-copy-streams";
