// POST /plants as a small service of Express, in memory, as it is written in ten minutes. Node express-service.mjs PORT

import express from "express";

const token = process.env.TOKEN;
const plants = new Map();

const app = express();
app.use(express.json());

app.use((request, response, next) => {
  if (request.headers.authorization === `Bearer ${token}`) return next();
  response.status(401).json({ error: 401, message: "Unauthorized" });
});

app.post("/plants", (request, response) => {
  const { id, name, tag } = request.body ?? {};
  if (!Number.isInteger(id) || typeof name !== "string" || (tag !== undefined && typeof tag !== "string"))
    return response.status(400).json({ error: 400, message: "id and name are required" });
  if (plants.has(id)) return response.status(400).json({ error: 400, message: `The id ${id} is taken` });
  plants.set(id, { name, tag });
  response.json({ name, tag });
});

app.listen(Number(process.argv[2]), "127.0.0.1");
