// The PostgreSQL client node-postgres and its streams for COPY, imported here and nowhere else.

export {
  Client,
  type ClientBase,
  type ClientConfig,
  type Connection,
  DatabaseError,
  Pool,
  type PoolClient,
  type QueryConfig,
  type Submittable,
  types,
} from "pg";
