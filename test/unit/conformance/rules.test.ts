// The rules against the documents: docs/conformance.md lists those of the contract, and each source
// is there.

import { expect, test } from "bun:test";
import { type Selection, selectRules } from "../../../src/conformance/all-rules.ts";
import { bases } from "../../../src/conformance/rule.ts";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { allRules as rules } from "../../support/conformance.ts";
import { plantStore } from "../../support/contracts.ts";
import { rowsOf } from "../../support/markdown.ts";

const root = new URL("../../..", import.meta.url).pathname;
const page = await Bun.file(`${root}/docs/conformance.md`).text();
const decisions = await Bun.file(`${root}/docs/decisions.md`).text();

const openapi = servedDocument(plantStore, []);

/** What follows a prefix, in those sources of rules that have it. */
const sourcesWith = (prefix: string) =>
  rules.flatMap(({ sources }) =>
    sources.filter((source) => source.startsWith(prefix)).map((source) => source.slice(prefix.length)),
  );

test("docs/conformance.md lists every rule of the contract with its sentence", () => {
  const ofContract = rules.filter(({ basis }) => basis === "contract");
  expect(rowsOf(page, /^\| `[a-z]+\.[\w.-]+` \|/)).toEqual(
    ofContract.map(({ id, title }) => [`\`${id}\``, title]),
  );
});

test("ids of rules are unique, and start with their level; titles are sentences", () => {
  expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length);
  expect(new Set(rules.map(({ title }) => title)).size).toBe(rules.length);
  for (const { id, level, title, sources } of rules) {
    expect(id).toMatch(new RegExp(`^${level}\\.[a-z0-9.-]+$`));
    expect(title).toMatch(/\.$/);
    expect(sources.length).toBeGreaterThan(0);
  }
});

/** The value at a path of member names; undefined if there is none. Names may contain points. */
function resolve(value: unknown, path: string): unknown {
  if (path === "" || typeof value !== "object" || value === null) return path === "" ? value : undefined;
  for (const [name, member] of Object.entries(value)) {
    if (path !== name && !path.startsWith(`${name}.`)) continue;
    const found = resolve(member, path.slice(name.length + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}

test("every path into the description that is served leads to a member", () => {
  const dead = sourcesWith("openapi.json, ").filter((path) => resolve(openapi, path) === undefined);
  expect(dead).toEqual([]);
});

test("every decision is a row of docs/decisions.md", () => {
  const questions = rowsOf(decisions, /./).map(([question]) => `"${question}"`);
  expect(sourcesWith("docs/decisions.md, ").filter((source) => !questions.includes(source))).toEqual([]);
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
  expect(select({ only: ["http.head", "ids.limits"] })).toEqual(["ids.limits", "http.head"]);
  expect(select({ only: ["ids"], skip: ["ids.limits"] })).toEqual(
    rules.filter(({ id, level }) => level === "ids" && id !== "ids.limits").map(({ id }) => id),
  );
  expect(select({ only: ["ids.limits"], skip: ["ids"] })).toEqual([]);
});
