// The rules against the documents: each source is there.

import { expect, test } from "bun:test";
import { Contents } from "../../../packages/conformance/src/requests/contents.ts";
import { type Selection, selectRules } from "../../../packages/conformance/src/rules/all-rules.ts";
import { bases } from "../../../packages/conformance/src/rules/rule.ts";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { deadPaths, leftOutOf, allRules as rules } from "../../support/conformance.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { plantStore, readSingle } from "../../support/contracts.ts";
import { rowsOf } from "../../support/markdown.ts";

const root = new URL("../../..", import.meta.url).pathname;
const decisions = await Bun.file(`${root}/docs/decisions.md`).text();

test("ids of rules are unique, and start with their level; titles are sentences", () => {
  expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length);
  expect(new Set(rules.map(({ title }) => title)).size).toBe(rules.length);
  for (const { id, level, title, sources } of rules) {
    expect(id).toMatch(new RegExp(`^${level}\\.[a-z0-9.-]+$`));
    expect(title).toMatch(/\.$/);
    expect(sources.length).toBeGreaterThan(0);
  }
});

test("every path into the description that is served leads to a member", () => {
  expect(deadPaths(rules, servedDocument(plantStore, []))).toEqual([]);
});

test("every decision is a row of docs/decisions.md", () => {
  const rows = rowsOf(decisions, /./).map(([question]) => `docs/decisions.md, "${question}"`);
  const sources = rules.flatMap((rule) => rule.sources.filter((source) => source.startsWith("docs/")));
  expect(sources.filter((source) => !rows.includes(source))).toEqual([]);
});

test("a rule that the contract requires has a source in the description, one of a standard an RFC, and a decision a row or the description", () => {
  const prefixes = { contract: /^openapi/, standard: /^RFC/, decision: /^(?:docs|openapi)/ };
  const unsourced = rules.filter(({ basis, sources }) => !sources.some((each) => prefixes[basis].test(each)));
  expect(unsourced.map(({ id }) => id)).toEqual([]);
});

test("rules are selected by their bases, ids and levels, in their order", () => {
  const select = (selection: Partial<Selection>) =>
    selectRules(rules, { bases, only: [], skip: [], ...selection }).map(({ id }) => id);
  expect(select({})).toEqual(rules.map(({ id }) => id));
  expect(select({ bases: ["contract"] })).toEqual(
    rules.filter(({ basis }) => basis === "contract").map(({ id }) => id),
  );
  expect(select({ only: ["errors.token", "ids.limits"] })).toEqual(["ids.limits", "errors.token"]);
  expect(select({ only: ["ids"], skip: ["ids.limits"] })).toEqual(
    rules.filter(({ id, level }) => level === "ids" && id !== "ids.limits").map(({ id }) => id),
  );
  expect(select({ only: ["ids.limits"], skip: ["ids"] })).toEqual([]);
});

test("rules that choose ids, and those of tokens, do not apply where there are none", async () => {
  const leftOut = async (name: string) => {
    const contract = await readSingle({ text: await Bun.file(contractFile(name)).text() });
    return leftOutOf(new Contents(contract, contract));
  };
  expect(await leftOut("bookings.yaml")).toMatchObject({
    "ids.limits": "the server chooses the ids",
    "idempotence.same-again": "the server chooses the ids",
    "contract.scheme-case": "the contract takes no bearer token",
  });
  expect(await leftOut("pets.yaml")).toMatchObject({
    "contract.token-required": "the contract takes requests without a token",
    "idempotence.race-of-different": "the contract has no body in its response",
  });
});

test("the program of the package uses nothing of Bun, as it runs on Node", async () => {
  const { outputs } = await Bun.build({
    entrypoints: [`${root}/packages/conformance/src/package-main.ts`],
    target: "node",
    minify: { whitespace: true },
  });
  expect((await outputs[0]?.text())?.match(/\bBun\.\w+/g) ?? []).toEqual([]);
});
