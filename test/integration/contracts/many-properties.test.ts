// Resources with as many properties as a table keeps, on every engine, and with one more.

import { describe, expect, test } from "bun:test";
import { sendJson, tokenHeaders } from "../../support/contract-sandbox.ts";
import { engines } from "../../support/engines.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";

function described(count: number): string {
  const names = Array.from({ length: count - 1 }, (_, index) => [`p${index}`, { type: "string" }]);
  const properties = { id: { type: "integer" }, ...Object.fromEntries(names) };
  const content = { "application/json": { schema: { type: "object", required: ["id"], properties } } };
  return JSON.stringify({
    openapi: "3.1.0",
    info: { title: "Things", version: "1" },
    security: [{ bearer: [] }],
    paths: {
      "/things": {
        post: {
          requestBody: { required: true, content },
          responses: { 201: { description: "It.", content } },
        },
      },
    },
    components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
  });
}

const fault =
  "it has 1501 properties, of which a table keeps at most 1500 (at /paths/~1things/post/requestBody/content/application~1json/schema)";

for (const engine of engines)
  test(`${engine.name}: 1,500 properties are kept`, async () => {
    using folder = new TemporaryFolder();
    const file = folder.file("things.json");
    const text = described(1_500);
    await Bun.write(file, text);
    await using store = await engine.createTestStore({ text });
    await using server = await RunningServer.startInProcess({
      database: store.database,
      args: ["--contract", file],
    });
    const body = { id: 1, p0: "a", p1498: "b" };
    const headers = tokenHeaders(await server.createToken());
    const created = await sendJson(`${server.url}/things`, "POST", body, headers);
    expect(created).toMatchObject({ status: 201, json: body });
  });

describe("1,501 properties", () => {
  test("are refused by serve with their place", async () => {
    using folder = new TemporaryFolder();
    await Bun.write(folder.file("things.json"), described(1_501));
    const start = RunningServer.startInProcess({
      database: `sqlite:${folder.file("things.db")}`,
      args: ["--contract", folder.file("things.json")],
    });
    expect(await settled(start)).toThrow(`the contract cannot be served: ${fault}`);
  });

  test("are no collection of a sandbox", async () => {
    using folder = new TemporaryFolder();
    await Bun.write(folder.file("things.json"), described(1_501));
    await using sandbox = await RunningSandbox.startInProcess({
      args: ["--contract", folder.file("things.json")],
    });
    expect(await sandbox.logged((text) => text)).toContain("keeps nothing: POST /things");
    const body = { id: 1 };
    const { status } = await sendJson(`${sandbox.url}/things`, "POST", body, tokenHeaders(sandbox.token));
    expect(status).toBe(201);
  });
});
