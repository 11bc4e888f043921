// Lists as frameworks describe them: their parameters, what they say of a page, and their filters.

import { describe, expect, test } from "bun:test";
import { sandboxOfThings } from "../../support/contract-sandbox.ts";
import { jsonOf, objectOf, readThings } from "../../support/descriptions.ts";

const integer = { type: "integer" };
const text = { type: "string" };
const orNull = (type: string) => ({ type: [type, "null"] });

const body = objectOf(
  {
    name: text,
    done: { type: "boolean", default: false },
    level: { type: "string", enum: ["low", "high"] },
  },
  ["name"],
);
const thing = objectOf({ id: integer, ...body.properties }, ["id", "name"]);
const listed = { type: "array", items: thing };

/** A description of things with a list. */
const thingsWith = (parameters: readonly (readonly [string, object, boolean?])[], schema: object) => ({
  body,
  response: thing,
  collection: {
    get: {
      parameters: parameters.map(([name, own, required = false]) => ({
        name,
        in: "query",
        required,
        schema: own,
      })),
      responses: { 200: { description: "ok", ...jsonOf(schema) } },
    },
  },
});

async function fiveThings(...described: Parameters<typeof thingsWith>) {
  const things = await sandboxOfThings(thingsWith(...described));
  for (const name of ["a", "b", "c", "d", "e"])
    await things.request("POST", "/things", JSON.stringify({ name, ...(name === "b" && { done: true }) }));
  return {
    ...things,
    async list(query: string) {
      const { json } = await things.request("GET", `/things${query}`);
      return json as Record<string, never>;
    },
  };
}
const namesOf = (things: unknown) => (things as { name: string }[]).map(({ name }) => name).join("");

describe("the page of a list", () => {
  test("by a page from 0, with what Spring says of it", async () => {
    const page = objectOf({
      content: listed,
      ...{
        totalElements: integer,
        totalPages: integer,
        size: integer,
        number: integer,
        numberOfElements: integer,
      },
      ...{ first: { type: "boolean" }, last: { type: "boolean" }, empty: { type: "boolean" } },
      pageable: objectOf({
        pageNumber: integer,
        offset: integer,
        sort: objectOf({ sorted: { type: "boolean" } }),
      }),
    });
    const parameter = objectOf({ page: { ...integer, minimum: 0 }, size: integer, sort: listed });
    await using things = await fiveThings([["pageable", parameter, true]], page);
    expect(await things.list("?page=1&size=2")).toMatchObject({
      content: [{ name: "c" }, { name: "d" }],
      ...{ totalElements: 5, totalPages: 3, size: 2, number: 1, numberOfElements: 2 },
      ...{ first: false, last: false, empty: false },
      pageable: { pageNumber: 1, offset: 2 },
    });
    expect(await things.list("?page=2&size=2")).toMatchObject({ number: 2, last: true });
    expect(await things.list("?sort=done,asc&sort=name,desc&size=2")).toMatchObject({
      content: [{ name: "e" }, { name: "d" }],
    });
    expect(things.collection.notes).toEqual([]);
  });

  test("by a page that is required and a number, with links and a nested meta", async () => {
    const links = ["first", "last", "prev", "next"];
    const page = objectOf(
      {
        data: { type: ["array", "null"], items: thing },
        links: objectOf(Object.fromEntries(links.map((name) => [name, orNull("string")])), links),
        meta: objectOf(
          { current_page: integer, last_page: integer, from: orNull("integer"), links: listed },
          ["links"],
        ),
      },
      ["data", "links", "meta"],
    );
    const number = { type: "number" };
    await using things = await fiveThings(
      [
        ["PageNumber", number, true],
        ["PageSize", number, true],
      ],
      page,
    );
    const { data, links: found, meta } = await things.list("?PageNumber=3&PageSize=2");
    expect([namesOf(data), meta]).toEqual([
      "e",
      { current_page: 3, last_page: 3, from: 5, links: [] },
    ] as never);
    const at = (number: number) => `${things.url}/things?PageSize=2&PageNumber=${number}`;
    expect(found).toEqual({ first: at(1), last: at(3), prev: at(2), next: null } as never);
    expect((await things.request("GET", "/things?PageSize=2")).status).toBe(400);
  });

  test("by a cursor, and by a URL", async () => {
    const page = objectOf(
      {
        results: listed,
        nextCursor: orNull("string"),
        next: { ...orNull("string"), format: "uri" },
        count: integer,
      },
      ["results", "nextCursor"],
    );
    await using things = await fiveThings(
      [
        ["cursor", text],
        ["take", integer],
      ],
      page,
    );
    const names: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const sent = cursor === "" ? "" : `&cursor=${cursor}`;
      const { results, nextCursor, next, count } = await things.list(`?take=2${sent}`);
      names.push(namesOf(results));
      expect([count, next]).toEqual([
        5,
        nextCursor === null ? null : `${things.url}/things?take=2&cursor=${nextCursor}`,
      ] as never);
      cursor = nextCursor ?? null;
    }
    expect(names).toEqual(["ab", "cd", "e"]);
  });

  test("is 501, or all of the list is, where it is asked for by what is not served", async () => {
    await using things = await fiveThings(
      [
        ["starting_after", text],
        ["ending_before", text],
      ],
      listed,
    );
    expect((await things.request("GET", "/things?ending_before=1")).status).toBe(501);
    expect(things.collection.notes).toEqual([
      'a list that is asked for by "ending_before" is not served: it responds with 501 (at /paths/~1things/get/parameters/1)',
    ]);
    for (const [name, schema, reason] of [
      ["before", text, "and is not served"],
      ["pageKey", text, "and is not served"],
      ["page", { type: "boolean" }, "and is neither an integer nor a text"],
    ] as const) {
      const { operations, notes } = await readThings(thingsWith([[name, schema]], listed));
      expect([operations.list, notes[0]]).toEqual([undefined, expect.stringContaining(reason)]);
    }
  });
});

test("a list has the things whose fields have the values that were sent", async () => {
  const filters = [
    ["done", { type: "boolean" }],
    ["Level", text],
    ["name", listed],
    ["order", text],
  ] as const;
  await using things = await fiveThings(
    [...filters, ["limit", integer]],
    objectOf({ items: listed, total: integer }),
  );
  await things.request("POST", "/things", '{"name":"f","level":"low","done":true}');
  const found = async (query: string): Promise<unknown> => {
    const { items, total } = await things.list(query);
    return [namesOf(items), total];
  };
  expect(await found("?done=true")).toEqual(["bf", 2]);
  // A body without it is false, by its default.
  expect(await found("?done=false")).toEqual(["acde", 4]);
  expect(await found("?Level=low&done=true")).toEqual(["f", 1]);
  const { headers } = await things.request("GET", "/things?done=true&limit=1");
  expect(headers.get("link")).toMatch(/^<\/things\?limit=1&after=\d+&done=true>; rel="next"$/);
  expect((await things.request("GET", "/things?Level=none")).status).toBe(400);
  expect(things.collection.notes.map((note) => note.replace(/ \(at .*/, ""))).toEqual([
    'a list that is asked for by "name" is not served: it responds with 501',
  ]);
  // A client that filters must not get everything.
  expect((await things.request("GET", "/things?name=a")).json).toMatchObject({ error: 50100 });
  for (const query of ["?order=", "?done=true&order=asc"])
    expect((await things.request("GET", `/things${query}`)).status).toBe(400);
});

test("a list has the things whose texts have what is searched for, without regard to case", async () => {
  const searched = objectOf({ ...body.properties, tags: { type: "array", items: text } }, ["name"]);
  const secret = objectOf({ ...searched.properties, key: { ...text, writeOnly: true } }, ["name"]);
  const described = ["q", "name_like", "name__icontains"].map((name) => [name, text] as const);
  await using things = await sandboxOfThings({
    ...thingsWith(described, {
      type: "array",
      items: objectOf({ id: integer, ...searched.properties }, ["id"]),
    }),
    body: secret,
  });
  for (const each of [
    { name: "Blue Chair", tags: ["oak", 'a"b'], key: "hidden" },
    { name: "blue table", level: "high" },
    { name: "100%_sure", key: "blue" },
  ])
    await things.request("POST", "/things", JSON.stringify(each));
  for (const [query, found] of [
    ["q=BLUE", 2],
    ["q=chair%20blue", 1],
    ["q=oak", 1],
    ["q=a%22b", 1],
    ["q=high", 1],
    ["q=hidden", 0],
    ["q=%25_", 1],
    ["q=", 3],
    ["name_like=Ue%20T", 1],
    ["name__icontains=oak", 0],
    ["name_like=chair&q=blue", 1],
    ["name_like=blue&name__icontains=e&limit=1", 1],
  ] as const) {
    const { json, headers } = await things.request("GET", `/things?${query}`);
    expect([query, (json as unknown[]).length]).toEqual([query, found]);
    expect(headers.get("link")).toEqual(
      query.endsWith("limit=1") ? expect.stringContaining("&name_like=blue") : null,
    );
  }
  expect((await things.request("GET", `/things?q=${"a".repeat(101)}`)).status).toBe(400);
  expect(things.collection.notes).toEqual([]);
});

test("a filter has a schema of its own, and may be required", async () => {
  await using things = await fiveThings(
    [
      ["name", { type: "string", enum: ["a", "b"] }, true],
      ["level", { enum: ["all", "low", "high", "recent"] }],
      ["page", integer],
      ["deep", objectOf({ a: text })],
    ],
    listed,
  );
  expect(namesOf(await things.list("?name=a"))).toBe("a");
  const refused = async (query: string) => {
    const { status, text } = await things.request("GET", `/things${query}`);
    return [status, text];
  };
  expect(await refused("")).toEqual([400, expect.stringContaining('\\"name\\" is required and must be')]);
  expect(await refused("?name=c")).toEqual([400, expect.stringContaining("must be one of")]);
  expect((await refused("?name=a&level=l"))[0]).toBe(400);
  // The property has other values than its filter.
  expect(namesOf(await things.list("?name=a&level=all"))).toBe("a");
  expect(await refused("?name=a&level=recent")).toEqual([
    501,
    expect.stringContaining('value of the parameter \\"level\\" is described'),
  ]);
  // The members of an object are parameters.
  expect((await refused("?name=a&a=1"))[0]).toBe(501);
  // One that every request must have is the end of the list.
  const { operations, notes } = await readThings(thingsWith([["other", text, true]], listed));
  expect([operations.list, notes[0]]).toEqual([
    undefined,
    expect.stringContaining('its parameter "other" is required, and is not served'),
  ]);
});

test("a page by offset ends where it is full, and the next one begins there", async () => {
  await using things = await sandboxOfThings(
    thingsWith(
      [
        ["skip", integer],
        ["limit", integer],
      ],
      objectOf({ items: listed, hasMore: { type: "boolean" } }, ["hasMore"]),
    ),
  );
  for (const letter of ["a", "b", "c"])
    await things.request("POST", "/things", JSON.stringify({ name: letter.repeat(600_000) }));
  let at = "/things";
  const found: string[] = [];
  for (const hasMore of [true, true, false]) {
    const { json, headers } = await things.request("GET", at);
    const page = json as { items: { name: string }[]; hasMore: boolean };
    found.push(page.items.map(({ name }) => name[0]).join(""));
    expect(page.hasMore).toBe(hasMore);
    at = /<([^>]*)>/.exec(headers.get("link") ?? "")?.[1] ?? "";
  }
  expect([found, at]).toEqual([["a", "b", "c"], ""]);
});

describe("the order of a list", () => {
  const sorts = (sort: object, ...more: readonly (readonly [string, object])[]) =>
    fiveThings([["sort_by", sort], ...more, ["cursor", text], ["limit", integer]], listed);
  const statusOf = async ({ request }: Awaited<ReturnType<typeof sorts>>, query: string) =>
    (await request("GET", `/things${query}`)).status;

  test("has a default, and a direction that is a parameter", async () => {
    await using things = await sorts({ ...text, default: "-name" }, ["order", text]);
    for (const [query, names] of [
      ["", "edcba"],
      ["?sort_by=name", "abcde"],
      ["?sort_by=+name", "abcde"],
      ["?sort_by=name&order=desc", "edcba"],
      ["?sort_by=done,name&order=desc,asc", "bacde"],
      ["?sort_by=done%20desc,name:DESC", "bedca"],
      ["?sort_by=id", "abcde"],
      ["?sort_by=ID_desc", "edcba"],
    ] as const)
      expect([query, namesOf(await things.list(query))]).toEqual([query, names]);
    expect(await statusOf(things, "?sort_by=name&order=up")).toBe(400);
  });

  test("is one of the properties, and of an enum", async () => {
    await using things = await sorts({ ...text, enum: ["name", "name_desc", "relevance"] });
    expect(namesOf(await things.list("?sort_by=name_desc"))).toBe("edcba");
    expect(await statusOf(things, "?sort_by=relevance")).toBe(501);
    for (const value of ["level", "none", "-name", "name,relevance"])
      expect([value, await statusOf(things, `?sort_by=${value}`)]).toEqual([value, 400]);
    expect(things.collection.notes).toEqual([
      'a list in the order "relevance" is not served: it responds with 501 (at /paths/~1things/get/parameters/0)',
    ]);
  });

  test("is never that of a member that is not shown", async () => {
    const secret = { body: objectOf({ ...body.properties, key: { ...text, writeOnly: true } }, ["name"]) };
    await using things = await sandboxOfThings({ ...thingsWith([["sort", text]], listed), ...secret });
    expect((await things.request("GET", "/things?sort=key")).status).toBe(400);
    expect((await things.request("GET", "/things?sort=name")).status).toBe(200);
  });

  test("goes on after a cursor of the same order, and after an id", async () => {
    await using things = await sorts(text);
    const { headers } = await things.request("GET", "/things?sort_by=-name&limit=2");
    const [, next = ""] = /<\/things(.*)>/.exec(headers.get("link") ?? "") ?? [];
    expect(namesOf(await things.list(next))).toBe("cb");
    const cursor = /cursor=([^&]+)/.exec(next)?.[1];
    for (const query of ["", "&sort_by=name", "&sort_by=done"])
      expect(await statusOf(things, `?cursor=${cursor}${query}`)).toBe(400);
    expect(await statusOf(things, `?sort_by=-name&cursor=~${btoa("[1,2]")}`)).toBe(400);
    // As JSON it has lost digits.
    const [, second] = [...(await things.request("GET", "/things")).text.matchAll(/"id":(\d+)/g)];
    expect(namesOf(await things.list(`?sort_by=-name&cursor=${second?.[1]}`))).toBe("a");
    expect(await statusOf(things, "?sort_by=-name&cursor=1")).toBe(400);
  });

  test("goes on after a long value", async () => {
    await using things = await sorts(text);
    const name = "c".repeat(2_000);
    await things.request("POST", "/things", JSON.stringify({ name }));
    const { headers } = await things.request("GET", "/things?sort_by=name&limit=4");
    const [, next = ""] = /<\/things(.*)>/.exec(headers.get("link") ?? "") ?? [];
    expect(next.length).toBeLessThan(200);
    expect(namesOf(await things.list(next))).toBe("de");
  });
});
