// Authentication of requests, by RFC 6750 and RFC 9110.

import { expect, test } from "bun:test";
import { freshId, plantJson, post, send } from "../../support/http.ts";
import { describeConformance } from "./targets.ts";

describeConformance("authentication", (target) => {
  const realm = 'Bearer realm="plantstore"';

  test.each(["", "Basic dXNlcjpwYXNz", "Digest x"])(
    "40100 without an error attribute for %p",
    async (authorization) => {
      const answer = await post(target(), plantJson(freshId(), "Monstera"), { Authorization: authorization });
      expect(answer.status).toBe(401);
      expect(answer.headers.get("www-authenticate")).toBe(realm);
      expect(answer.json).toEqual({
        error: 40100,
        message: "The request carries no bearer token; send the header Authorization: Bearer <ACCESS_TOKEN>.",
      });
    },
  );

  const notAccepted = [
    "Bearer",
    "Bearer ",
    "Bearer unknown",
    "Bearer two words",
    `Bearer pst_${"A".repeat(43)}`,
    "Bearer ümlaut",
    `Bearer ${"x".repeat(4_000)}`,
    "Bearer a, Bearer b",
  ];
  test.each(notAccepted)("40101 for %.30s", async (authorization) => {
    const answer = await post(target(), plantJson(freshId(), "Monstera"), { Authorization: authorization });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe(`${realm}, error="invalid_token"`);
    expect(answer.json).toMatchObject({ error: 40101 });
  });

  test("a token that differs in its last character is not accepted", async () => {
    const { token } = target();
    const other = token.slice(0, -1) + (token.endsWith("A") ? "B" : "A");
    expect((await post(target(), "{}", { Authorization: `Bearer ${other}` })).status).toBe(401);
  });

  test.each(["bearer", "BEARER", "bEaReR"])("the scheme %s is the scheme Bearer", async (scheme) => {
    const answer = await post(target(), plantJson(freshId(), "Monstera"), {
      Authorization: `${scheme} ${target().token}`,
    });
    expect(answer.status).toBe(200);
  });

  test("a token in the query string is not read", async () => {
    const answer = await send(`${target().url}/plants?access_token=${target().token}`, { method: "POST" });
    expect(answer.json).toMatchObject({ error: 40100 });
  });

  test("precedes the checks of the path, the method, the media type and the body", async () => {
    const none = { Authorization: "" };
    expect((await post(target(), "not JSON", { ...none, "Content-Type": "text/plain" })).status).toBe(401);
    expect((await send(`${target().url}/nowhere`)).status).toBe(401);
    expect((await send(`${target().url}/plants`)).status).toBe(401);
    expect((await send(`${target().url}/plants`, { method: "OPTIONS" })).status).toBe(401);
  });

  test("is not required for openapi.json", async () => {
    expect((await send(`${target().url}/openapi.json`)).status).toBe(200);
  });
});
