// CORS, and the interface description.

import { expect, test } from "bun:test";
import { send } from "../../../support/http.ts";
import { describeConformance } from "./targets.ts";

describeConformance("CORS", (target) => {
  const preflight = (path: string) =>
    send(target().url + path, {
      method: "OPTIONS",
      headers: {
        Origin: "https://docs.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
      },
    });

  test.each(["/plants", "/nowhere", "/openapi.json"])(
    "a preflight of %s needs no credentials",
    async (path) => {
      const { status, headers, text } = await preflight(path);
      expect(status).toBe(204);
      expect(text).toBe("");
      expect(headers.get("access-control-allow-origin")).toBe("*");
      expect(headers.get("access-control-allow-methods")).toContain("POST");
      expect(headers.get("access-control-allow-headers")).toBe("authorization,content-type");
      expect(Number(headers.get("access-control-max-age"))).toBeGreaterThan(0);
    },
  );
});

describeConformance("openapi.json", (target) => {
  test("is the contract, with this server's address", async () => {
    const { status, headers, json } = await send(`${target().url}/openapi.json`);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json");
    expect(json).toMatchObject({
      openapi: "3.1.0",
      info: { version: "1.0.0", license: { name: "MIT" } },
      servers: [{ url: target().url }],
      paths: { "/plants": { post: { operationId: "createPlant" } } },
    });
  });

  test("accepts HEAD, and rejects other methods with Allow", async () => {
    expect((await send(`${target().url}/openapi.json`, { method: "HEAD" })).status).toBe(200);
    const { status, headers, json } = await send(`${target().url}/openapi.json`, { method: "POST" });
    expect(status).toBe(405);
    expect(headers.get("allow")).toBe("GET, HEAD");
    expect(json).toMatchObject({ error: 40500 });
  });
});
