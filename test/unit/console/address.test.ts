// The search as it is typed into the console: its text and its tag, and the way back.

import { expect, test } from "bun:test";
import fc from "fast-check";

// In the browser's JavaScript, which the types of the tests do not cover.
const path = new URL("../../../src/console/page/address.js", import.meta.url).pathname;
const { parseQuery, formatQuery } = (await import(path)) as {
  parseQuery: (query: string) => { text: string; tag: string | null };
  formatQuery: (text: string, tag: string | null) => string;
};

test("text and tag are combined in any order", () => {
  expect(parseQuery("mons")).toEqual({ text: "mons", tag: null });
  expect(parseQuery(" mons  deli tag:tropical ")).toEqual({ text: "mons  deli", tag: "tropical" });
  expect(parseQuery('tag:"two words" mons')).toEqual({ text: "mons", tag: "two words" });
  expect(parseQuery('tag:"a \\"b\\" \\\\"')).toEqual({ text: "", tag: 'a "b" \\' });
  expect(parseQuery('tag:""')).toEqual({ text: "", tag: "" });
  // Not typed to its end yet, or part of a word.
  expect(parseQuery("tag:")).toEqual({ text: "tag:", tag: null });
  expect(parseQuery("mintag:x")).toEqual({ text: "mintag:x", tag: null });
});

test("every tag is found again in the search that a click on it types", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (tag) => {
      expect(parseQuery(formatQuery("mons", tag))).toEqual({ text: "mons", tag });
      expect(parseQuery(formatQuery("", tag))).toEqual({ text: "", tag });
    }),
  );
});
