// X-Request-Id, which connects a response with the log.

import { expect, test } from "bun:test";
import { freshId, plantJson, post, send } from "../../../support/http.ts";
import { describeConformance } from "./targets.ts";

describeConformance("X-Request-Id", (target) => {
  const idOf = async (headers: Record<string, string>, body = plantJson(freshId(), "Monstera")) =>
    (await post(target(), body, headers)).headers.get("x-request-id");

  test("is in every response of the service, and unique", async () => {
    const answers = [
      await post(target(), plantJson(freshId(), "Monstera")),
      await post(target(), "{"),
      await post(target(), "{}", { Authorization: "" }),
      await send(`${target().url}/nowhere`),
    ];
    const ids = answers.map(({ headers }) => headers.get("x-request-id") ?? "");
    for (const id of ids) expect(id).toMatch(/^[\w-]{5,}$/);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test.each([
    "a",
    "0f8fad5b-d9cb-469f-a165-70867728950e",
    "Root=1-67891233-abcdef012345678912345678",
    "a".repeat(128),
  ])("%s is taken from the request", async (id) => {
    expect(await idOf({ "X-Request-Id": id })).toBe(id);
    expect(await idOf({ "X-Request-Id": id }, "{")).toBe(id);
  });

  test.each(["two words", '"quoted"', "a".repeat(129), "<b>", "naïve", "a,b"])(
    "%s is not, and one is made",
    async (id) => {
      const made = await idOf({ "X-Request-Id": id });
      expect(made).not.toBe(id);
      expect(made).toMatch(/^[\w-]{5,}$/);
    },
  );

  test("is the id of the trace, where the request has no X-Request-Id", async () => {
    const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    const traceparent = `00-${trace}-00f067aa0ba902b7-01`;
    expect(await idOf({ traceparent })).toBe(trace);
    expect(await idOf({ traceparent, "X-Request-Id": "mine" })).toBe("mine");
    for (const bad of [
      `ff-${trace}-00f067aa0ba902b7-01`,
      `00-${"0".repeat(32)}-00f067aa0ba902b7-01`,
      `00-${trace}-${"0".repeat(16)}-01`,
      `00-${trace.toUpperCase()}-00f067aa0ba902b7-01`,
      trace,
    ])
      expect(await idOf({ traceparent: bad })).not.toBe(trace);
  });
});
