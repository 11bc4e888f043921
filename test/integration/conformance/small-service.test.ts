// A service of some forty lines as somebody writes it with a framework, for a contract of three
// collections with UUIDs and problem+json: it keeps the rules, and each of its mistakes is found.

import { expect, test } from "bun:test";
import { Ajv2020 } from "ajv/dist/2020";
import { Hono } from "hono";
import { parse } from "yaml";
import { contractFile } from "../../support/contract-sandbox.ts";
import { runCommand } from "../../support/server.ts";

const file = contractFile("hotel.yaml");
const document = parse(await Bun.file(file).text());
const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, "hotel");
const token = "a-token-of-the-hotel";

interface Resource {
  readonly id: string;
  readonly room_id?: string;
  readonly guest_id?: string;
}

/** Mistakes, each with what the kit says about it. */
const mistakes = {
  "one is got without a token":
    "contract.token-required: get without a token: a request that must be rejected",
  "a change forgets the other members": "contract.change: expected the ",
  "problems are plain JSON": "expected the 422 of POST /rooms to be application/problem+json, received",
  "an id is taken from the client":
    "contract.readonly-ignored: a readOnly property that a client sent is returned",
  "a member has another type": 'in the 201 of POST /guests "name" must be a string',
  "a list is wrapped": "in the 200 of GET /rooms it must be an array",
  "a success is another one": "the contract describes no 202 of POST /rooms",
  "a deletion does nothing": "contract.delete: ",
};
type Mistake = keyof typeof mistakes;

function hotel(made: readonly Mistake[]) {
  const all = new Map<string, Map<string, Resource>>();
  /** Whether there are the room and the guest of a booking. */
  const isReferred = ({ room_id, guest_id }: Resource) =>
    (room_id === undefined || all.get("rooms")?.has(room_id) === true) &&
    (guest_id === undefined || all.get("guests")?.has(guest_id) === true);
  const makes = (mistake: Mistake) => made.includes(mistake);
  const app = new Hono().basePath("/api/v1");
  const problem = (status: number) => {
    const type = makes("problems are plain JSON") ? "application/json" : "application/problem+json";
    return new Response(JSON.stringify({ title: "No", status }), {
      status,
      headers: { "Content-Type": type },
    });
  };
  app.use(async (context, next) => {
    const isOpen = makes("one is got without a token") && /v1\/\w+\/[^/]+$/.test(context.req.path);
    const isKnown = context.req.header("Authorization") === `Bearer ${token}`;
    return isKnown || isOpen ? await next() : problem(401);
  });
  for (const [name, schema] of [
    ["rooms", "Room"],
    ["guests", "Guest"],
    ["bookings", "Booking"],
  ] as const) {
    const stored = new Map<string, Resource>();
    all.set(name, stored);
    const check = ajv.compile({ $ref: `hotel#/components/schemas/${schema}` });
    const { properties } = document.components.schemas[schema];
    const listed = (query: (name: string) => string | undefined) => {
      const limit = Number(query("limit") ?? query("pageSize") ?? 20);
      const page = Number(query("page") ?? 1);
      const start = Number(query("offset") ?? (page - 1) * limit);
      const items = [...stored.values()].slice(start, start + limit);
      if (name === "guests") return { items, total: stored.size, page, pageSize: limit };
      return name === "bookings" || makes("a list is wrapped") ? { data: items } : items;
    };
    /** What is stored of a body; undefined if it is not valid. */
    const keep = (body: unknown, known: object): Resource | undefined => {
      if (typeof body !== "object" || body === null || Array.isArray(body)) return undefined;
      const isKept = (member: string) =>
        member in properties && (!properties[member].readOnly || makes("an id is taken from the client"));
      const sent = Object.fromEntries(Object.entries(body).filter(([member]) => isKept(member)));
      const resource = { ...known, ...sent };
      return check({ ...resource, id: crypto.randomUUID() }) ? (resource as Resource) : undefined;
    };
    app.get(`/${name}`, (context) => context.json(listed((each) => context.req.query(each))));
    app.post(`/${name}`, async (context) => {
      const times = { ...(properties.created_at && { created_at: new Date().toISOString() }) };
      const resource = keep(await context.req.json().catch(() => null), {
        id: crypto.randomUUID(),
        ...times,
      });
      if (resource === undefined || !isReferred(resource)) return problem(422);
      stored.set(resource.id, resource);
      const shown =
        makes("a member has another type") && name === "guests" ? { ...resource, name: 5 } : resource;
      return context.json(shown, makes("a success is another one") && name === "rooms" ? 202 : 201);
    });
    app.all(`/${name}/:id`, async (context) => {
      const { method } = context.req;
      const id = context.req.param("id").toLowerCase();
      const found = stored.get(id);
      if (found === undefined) return problem(404);
      if (method === "GET") return context.json(found);
      if (method === "DELETE") {
        if (!makes("a deletion does nothing")) stored.delete(id);
        return context.body(null, 204);
      }
      const isBare = method === "PUT" || makes("a change forgets the other members");
      const known = isBare && method === "PATCH" ? { id, name: "", email: "nobody@example.com" } : found;
      const changed = keep(
        await context.req.json().catch(() => null),
        isBare && method === "PUT" ? { id } : known,
      );
      if (changed === undefined) return problem(422);
      stored.set(id, changed);
      return context.json(changed);
    });
  }
  return Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: app.fetch });
}

async function check(made: readonly Mistake[]) {
  await using server = hotel(made);
  const args = ["--contract", file, "--url", server.url.origin, "--token", token, "--strict"];
  const { exitCode, stdout } = await runCommand(["conformance", ...args]);
  return { exitCode, stdout };
}

test("a right service keeps the rules of all collections, below the base path of the contract", async () => {
  const { exitCode, stdout } = await check([]);
  expect(stdout).not.toContain("FAIL");
  expect(stdout).toContain("/api/v1\n");
  expect(stdout).not.toContain("\nNot checked: the rules need");
  expect(exitCode).toBe(0);
});

test.each([0, 4])("four mistakes at once are four findings, from mistake %d on", async (start) => {
  const four = Object.entries(mistakes).slice(start, start + 4);
  const { exitCode, stdout } = await check(four.map(([mistake]) => mistake as Mistake));
  for (const [, message] of four) expect(stdout).toContain(message);
  expect(exitCode).toBe(1);
});
