// POST /plants as people usually write it: Fastify, its schema validation, node:sqlite, one durable commit a request.
// Serves on 127.0.0.1 until SIGTERM.

import { timingSafeEqual } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import Fastify from "fastify";

const { DATABASE, TOKEN, PORT = "8080" } = process.env;

const database = new DatabaseSync(DATABASE);
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
database.exec(
  "CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT",
);
const insertPlant = database.prepare("INSERT INTO plants (id, name, tag) VALUES (?, ?, ?)");

const app = Fastify();

const expected = Buffer.from(`Bearer ${TOKEN}`);
app.addHook("onRequest", async (request, reply) => {
  const given = Buffer.from(request.headers.authorization ?? "");
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    return reply.code(401).header("WWW-Authenticate", "Bearer").send({ error: 401, message: "Unauthorized" });
});

const plantProperties = { name: { type: "string" }, tag: { type: "string" } };
const schema = {
  body: {
    type: "object",
    required: ["id", "name"],
    properties: { id: { type: "integer", format: "int64" }, ...plantProperties },
  },
  response: { 200: { type: "object", required: ["name"], properties: plantProperties } },
};

app.post("/plants", { schema }, (request, reply) => {
  const { id, name, tag } = request.body;
  try {
    insertPlant.run(id, name, tag ?? null);
  } catch (error) {
    // SQLITE_CONSTRAINT_PRIMARYKEY
    if (error.errcode !== 1555) throw error;
    return reply.code(409).send({ error: 409, message: `The id ${id} is taken` });
  }
  reply.send({ name, tag });
});

await app.listen({ host: "127.0.0.1", port: Number(PORT) });

process.once("SIGTERM", async () => {
  await app.close();
  database.close();
});
