// The PostgreSQL client. The one place that imports it.

export { Client, type ClientConfig, DatabaseError, Pool, type PoolClient, type PoolConfig } from "pg";
