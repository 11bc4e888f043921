// POST /plants as people usually write it on SQLite: Express, better-sqlite3, one durable commit a request.
// Serves on 127.0.0.1 until SIGTERM.

import { timingSafeEqual } from "node:crypto";
import Database from "better-sqlite3";
import express from "express";

const { DATABASE, TOKEN, PORT = "8080" } = process.env;

const database = new Database(DATABASE);
database.pragma("journal_mode = WAL");
database.pragma("synchronous = FULL");
database.exec(
  "CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT",
);
const insertPlant = database.prepare("INSERT INTO plants (id, name, tag) VALUES (?, ?, ?)");

const app = express();
app.disable("x-powered-by");

const expected = Buffer.from(`Bearer ${TOKEN}`);
app.use((request, response, next) => {
  const given = Buffer.from(request.headers.authorization ?? "");
  if (given.length === expected.length && timingSafeEqual(given, expected)) return next();
  response.status(401).set("WWW-Authenticate", "Bearer").json({ error: 401, message: "Unauthorized" });
});
app.use(express.json());

function isPlant({ id, name, tag } = {}) {
  return (
    Number.isSafeInteger(id) && typeof name === "string" && (tag === undefined || typeof tag === "string")
  );
}

app.post("/plants", (request, response) => {
  if (!isPlant(request.body))
    return response.status(400).json({ error: 400, message: "This is not a plant" });
  const { id, name, tag } = request.body;
  try {
    // As a bigint: a number would be bound as a double.
    insertPlant.run(BigInt(id), name, tag ?? null);
  } catch (error) {
    if (error.code !== "SQLITE_CONSTRAINT_PRIMARYKEY") throw error;
    return response.status(409).json({ error: 409, message: `The id ${id} is taken` });
  }
  response.json({ name, tag });
});

const server = app.listen(Number(PORT), "127.0.0.1");

process.once("SIGTERM", () => {
  server.close(() => database.close());
});
