// Exports what is used of node-postgres, which nothing else imports.

export {
  Client,
  type ClientBase,
  type ClientConfig,
  type Connection,
  DatabaseError,
  Pool,
  type PoolClient,
  Query,
  type QueryConfig,
  type Submittable,
  types,
} from "pg";
