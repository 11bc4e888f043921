// The PostgreSQL client node-postgres and its streams for COPY, imported here and nowhere else.

import { types } from "pg";

export {
  Client,
  type ClientConfig,
  type Connection,
  DatabaseError,
  escapeLiteral,
  Pool,
  type PoolClient,
  Query,
  type QueryConfig,
  type Submittable,
} from "pg";
export { from as copyFrom, to as copyTo } from "pg-copy-streams";

/** The function that parses a value of a type, given by its object identifier. */
export const typeParserOf = (oid: number) => types.getTypeParser(oid);
