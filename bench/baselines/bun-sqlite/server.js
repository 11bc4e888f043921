// A bare Bun.serve with bun:sqlite in the same thread: one transaction a change, without a schema and without a history.
// What a server on this runtime could reach at most without threads and groups. Serves on 127.0.0.1 until SIGTERM.

import { Database } from "bun:sqlite";

const { DATABASE, TOKEN, PORT = "8080" } = process.env;

const database = new Database(DATABASE);
database.run("PRAGMA journal_mode = WAL");
database.run("PRAGMA synchronous = FULL");
database.run("CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT");
const insert = database.query("INSERT INTO plants (name, tag) VALUES (?, ?) RETURNING *");
const select = database.query("SELECT * FROM plants WHERE id = ?");
const list = database.query("SELECT * FROM plants ORDER BY id LIMIT ?");
const replace = database.query("UPDATE plants SET name = ?, tag = ? WHERE id = ? RETURNING *");
const change = database.query(
  "UPDATE plants SET name = coalesce(?, name), tag = coalesce(?, tag) WHERE id = ? RETURNING *",
);
const remove = database.query("DELETE FROM plants WHERE id = ?");

const authenticated = (handle) => (request) =>
  request.headers.get("authorization") === `Bearer ${TOKEN}`
    ? handle(request)
    : new Response(null, { status: 401 });
const one = (row, status = 200) =>
  row === null ? new Response(null, { status: 404 }) : Response.json(row, { status });
const edit = (statement) =>
  authenticated(async (request) => {
    const { name = null, tag = null } = await request.json();
    return one(statement.get(name, tag, request.params.id));
  });

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(PORT),
  routes: {
    "/plants": {
      POST: authenticated(async (request) => {
        const { name, tag = null } = await request.json();
        return typeof name === "string"
          ? one(insert.get(name, tag), 201)
          : new Response(null, { status: 400 });
      }),
      GET: authenticated((request) =>
        Response.json(list.all(new URL(request.url).searchParams.get("limit"))),
      ),
    },
    "/plants/:id": {
      GET: authenticated((request) => one(select.get(request.params.id))),
      PUT: edit(replace),
      PATCH: edit(change),
      DELETE: authenticated((request) => {
        remove.run(request.params.id);
        return new Response(null, { status: 204 });
      }),
    },
  },
});

process.once("SIGTERM", async () => {
  await server.stop();
  database.close();
});
