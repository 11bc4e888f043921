// The messages and challenges of authentication; which credentials are accepted is checked by rules
// of src/conformance.

import { expect, test } from "bun:test";
import { freshId, plantJson, post } from "../../../support/http.ts";
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
});
