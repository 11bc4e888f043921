// The rules against the documents: docs/conformance.md lists each one, and each source is there.

import { expect, test } from "bun:test";
import openapi from "../../../openapi.yaml";
import { bases, type Rule, type Source } from "../../../src/conformance/rule.ts";
import { rules, type Selection, selectRules } from "../../../src/conformance/rules.ts";
import { rowsOf } from "../../support/markdown.ts";

const root = new URL("../../..", import.meta.url).pathname;
const page = await Bun.file(`${root}/docs/conformance.md`).text();
const decisions = await Bun.file(`${root}/docs/decisions.md`).text();

const sources = rules.flatMap(({ id, sources }) => sources.map((source) => ({ id, source })));

/** The row of docs/conformance.md: the id, the sentence, and the sections of standards. */
function ruleCells({ id, title, basis, sources }: Rule): string[] {
  return [`\`${id}\``, title, ...(basis === "standard" ? [sources.flatMap(rfcLinks).join(", ")] : [])];
}

function rfcLinks(source: Source): string[] {
  if (!("rfc" in source)) return [];
  const { rfc, section } = source;
  return [`[${rfc}#${section}](https://www.rfc-editor.org/rfc/rfc${rfc}#section-${section})`];
}

test("docs/conformance.md lists every rule with its sentence and its standards, and no other", () => {
  const inOrder = bases.flatMap((basis) => rules.filter((rule) => rule.basis === basis));
  expect(rowsOf(page, /^\| `[a-z]+\.[\w.-]+` \|/)).toEqual(inOrder.map(ruleCells));
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

test("every path into openapi.yaml leads to a member", () => {
  const dead = sources.filter(
    ({ source }) => "openapi" in source && resolve(openapi, source.openapi) === undefined,
  );
  expect(dead).toEqual([]);
});

test("every decision is a row of docs/decisions.md, and every section one of an RFC", () => {
  const questions = rowsOf(decisions, /./).map(([question]) => question ?? "");
  for (const { id, source } of sources) {
    if ("decision" in source)
      expect({ id, question: questions.includes(source.decision) }).toEqual({ id, question: true });
    if ("rfc" in source)
      expect({ id, ...source }).toEqual({
        id,
        rfc: source.rfc,
        section: expect.stringMatching(/^\d+(?:\.\d+)*$/),
      });
  }
});

test("a rule that the contract requires has a source in openapi.yaml, one of a standard an RFC, and a decision a row or openapi.yaml", () => {
  const unsourced = rules.filter(({ basis, sources }) => {
    if (basis === "contract") return !sources.some((source) => "openapi" in source);
    if (basis === "standard") return !sources.some((source) => "rfc" in source);
    return !sources.some((source) => "decision" in source || "openapi" in source);
  });
  expect(unsourced.map(({ id }) => id)).toEqual([]);
});

test("rules are selected by their bases, ids and levels, in their order", () => {
  const select = (selection: Partial<Selection>) =>
    selectRules({ bases, only: [], skip: [], ...selection }).map(({ id }) => id);
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
