// A description of many collections. Where one takes quadratic time, this takes minutes.

import { expect, test } from "bun:test";
import type { Contract } from "../../../src/contract/contract.ts";
import { collectionFinder } from "../../../src/docs-page/collection-at.ts";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { readContract } from "../../../src/openapi/description/read-contract.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import { jsonOf, objectOf } from "../../support/descriptions.ts";

const count = 600;

const things = jsonOf(objectOf({ id: { type: "integer" }, name: { type: "string" } }, ["id"]));
const success = { 200: { description: "ok", ...things } };
const text = JSON.stringify({
  openapi: "3.1.0",
  info: { title: "Things", version: "1" },
  paths: Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      [`/things${index}`, { post: { requestBody: things, responses: success } }],
      [
        `/things${index}/{id}`,
        { get: { responses: success }, put: { requestBody: things, responses: success } },
      ],
      [`/things${index}/{id}/parts`, { post: { responses: success } }],
    ]).flat(),
  ),
});

test("each operation is described with its collection", async () => {
  const contract = await readContract({ text });
  expect(contract.collections.length).toBe(count);
  const operations = contract.collections.flatMap((each) => collectionOperations(each, []));
  const { paths } = servedDocument(contract, operations);
  for (const at of [0, 7, count - 1])
    expect(paths[`/things${at}/{id}`]?.put).toMatchObject({ tags: [contract.collections[at]?.words.many] });
});

test("an operation is of the collection with the longest path that it is at or below", () => {
  const paths = ["/a", "/a/b/", "/%C3%A4"];
  const find = collectionFinder({ collections: paths.map((path) => ({ path })) } as unknown as Contract);
  expect(
    ["/a", "/a/{id}", "/a/b", "/a/b/{id}/c", "/ab", "/ä/{id}", "/"].map((each) => find(each)?.path),
  ).toEqual(["/a", "/a", "/a/b/", "/a/b/", undefined, "/%C3%A4", undefined]);
});
