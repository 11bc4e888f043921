// A contract of two collections, one with so many texts that a row of PostgreSQL has no room for all.

import { writeFileSync } from "node:fs";

const wideFields = 1_000;

const text = { type: "string" };
const names = Array.from({ length: wideFields }, (_, index) => `t${index}`);
const properties = Object.fromEntries(names.map((name) => [name, text]));

function collection(schema: object) {
  const content = { "application/json": { schema } };
  const responses = { 200: { description: "It.", content } };
  const requestBody = { required: true, content };
  const id = { name: "id", in: "path", required: true, schema: { type: "integer", format: "int64" } };
  return [
    { post: { requestBody, responses } },
    { parameters: [id], get: { responses }, patch: { requestBody, responses } },
  ] as const;
}

/** Writes the contract of /wides and /narrows. */
export function writeWideContract(file: string): void {
  const id = { type: "integer", format: "int64" };
  const [wides, wide] = collection({ type: "object", required: ["id"], properties: { id, ...properties } });
  const [narrows, narrow] = collection({
    type: "object",
    required: ["id"],
    properties: { id, name: text },
  });
  const contract = {
    openapi: "3.0.3",
    info: { title: "Wide", version: "1" },
    security: [{ bearer: [] }],
    paths: { "/wides": wides, "/wides/{id}": wide, "/narrows": narrows, "/narrows/{id}": narrow },
    components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
  };
  writeFileSync(file, JSON.stringify(contract));
}

/** A body of /wides whose first texts, all by default, have so many characters each. */
export function wideBody(id: number, characters: number, texts = wideFields): string {
  const pairs = names.slice(0, texts).map((name) => [name, "x".repeat(characters)]);
  return JSON.stringify({ id, ...Object.fromEntries(pairs) });
}
