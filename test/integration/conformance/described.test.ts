// A small server of another contract, which is right, and servers whose responses are not as that
// contract describes them.

import { expect, test } from "bun:test";
import { Contents } from "../../../packages/conformance/src/requests/contents.ts";
import { rulesFor } from "../../../packages/conformance/src/rules/all-rules.ts";
import { checkConformance } from "../../support/conformance.ts";
import { jsonOf, objectOf, readThings } from "../../support/descriptions.ts";

const text = { type: "string" };
const thing = objectOf({ id: { type: "integer" }, name: text, done: { type: "boolean" } }, ["id", "name"]);
const refusal = objectOf({ reasons: { type: "array", items: text } }, ["reasons"]);

/** A contract without paging, and without a described response to a missing thing. */
const contract = await readThings({
  body: objectOf({ name: text, done: { type: "boolean" } }, ["name"]),
  post: {
    responses: {
      201: { description: "ok", ...jsonOf(thing) },
      422: { description: "no", ...jsonOf(refusal) },
    },
  },
  collection: {
    get: { responses: { 200: { description: "ok", ...jsonOf({ type: "array", items: thing }) } } },
  },
  item: {
    get: {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
      responses: { 200: { description: "ok", ...jsonOf(thing) } },
    },
  },
});
const contents = new Contents(contract, contract);
const rules = rulesFor(contents).filter(({ basis, unfit }) => basis === "contract" && unfit === undefined);

type Alter = (method: string, status: number, body: unknown) => Response;
const asJson: Alter = (_, status, body) => Response.json(body, { status });

/** A server that keeps the contract, unless its responses are altered. */
function serve(alter: Alter) {
  const things: { readonly id: number; readonly name: string }[] = [];
  const create = (body: unknown) => {
    if (typeof body !== "object" || body === null || Array.isArray(body)) return undefined;
    const { name, done } = body as Readonly<Record<string, unknown>>;
    if (typeof name !== "string" || (done !== undefined && typeof done !== "boolean")) return undefined;
    const made = { id: things.length + 1, name, ...(done !== undefined && { done }) };
    things.push(made);
    return made;
  };
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const { method } = request;
      const id = /^\/things\/(\d+)$/.exec(pathname)?.[1];
      const found = things.find((each) => each.id === Number(id));
      if (id !== undefined)
        return found ? alter(method, 200, found) : alter(method, 404, { reasons: ["no"] });
      if (pathname !== "/things") return asJson(method, 404, {});
      if (method === "GET") return alter(method, 200, things);
      const made = create(await request.json().catch(() => undefined));
      return made ? alter(method, 201, made) : alter(method, 422, { reasons: ["not valid"] });
    },
  });
}

async function failuresOf(alter: Alter): Promise<string[]> {
  const server = serve(alter);
  try {
    const { results } = await checkConformance(
      { url: String(server.url), token: "secret-of-nobody" },
      { contents, rules },
    );
    return results.flatMap(({ rule, failures }) =>
      rule.id === "contract.as-described" ? failures.map(({ message }) => message) : [],
    );
  } finally {
    await server.stop(true);
  }
}

test("a right server of a contract without paging keeps all rules", async () => {
  const server = serve(asJson);
  const { results } = await checkConformance(
    { url: String(server.url), token: "secret-of-nobody" },
    { contents, rules },
  );
  expect(results.filter(({ outcome }) => outcome !== "holds")).toEqual([]);
  for (const { sources } of rules.map((rule) => rule)) expect(sources.join()).not.toContain("responses.400");
  await server.stop(true);
});

test.each<[string, Alter, string]>([
  [
    "the body of a rejection",
    (_, status, body) => Response.json(status === 422 ? { reason: "no" } : body, { status }),
    'in the 422 of POST /things it must be an object with the member "reasons"',
  ],
  [
    "the media type",
    (_, status, body) =>
      new Response(JSON.stringify(body), { status, headers: { "Content-Type": "text/json" } }),
    'expected the 201 of POST /things to be application/json, received "text/json"',
  ],
  [
    "a list",
    (method, status, body) => Response.json(method === "GET" ? { things: body } : body, { status }),
    "in the 200 of GET /things it must be an array",
  ],
  [
    "a status",
    (method, status, body) =>
      Response.json(body, { status: method === "GET" && status === 200 ? 206 : status }),
    "the contract describes no 206 of GET /things",
  ],
])("a server is wrong in %s", async (_, alter, message) => {
  expect((await failuresOf(alter)).join("\n")).toContain(message);
});
