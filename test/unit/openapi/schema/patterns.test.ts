// Patterns of ECMA 262 as RE2 matches them: they accept the texts that a RegExp with the flag u accepts.

import { expect, test } from "bun:test";
import { Work, WorkExceeded } from "../../../../src/contract/schema-check.ts";
import { compilePattern, loadPatterns, PatternError } from "../../../../src/openapi/schema/patterns.ts";

await loadPatterns();

function matches(pattern: string, text: string): boolean {
  return compilePattern(pattern).matches(text, new Work(Number.POSITIVE_INFINITY));
}

const texts = [
  "",
  ..."a b ab aB aaa a1 _ - / [ ] ^ $ . \\ { } é α Я".split(" "),
  ...["🌿", "😀", "\ud83d", "\0", "\b", "\t", "\n", "\r", "\v", "\f", " "],
  ...["\u00a0", "\u2028", "\ufeff", "\u001a"],
  ...["a\n", "\na", "ab-12", "2026-11-24", "a b", "aab", "ba", "x".repeat(1_500), "ab".repeat(1_100), "a,b"],
  ...["٣", "Ⅷ", "ǅ", "a\u2029b", "k", "K", "ſ", "[:alpha:]", "\\Q", "1.5", "日本", "\u180e", "\u0085"],
];

/** Patterns that a RegExp with the flag u takes as well. */
const patterns = [
  "",
  ...String.raw`
    a ^a$ ^a|b$ a*?b ^.$ ^.*$ ^[^]$ [] ^\s$ ^\S$ ^[\s]$ ^[^\s]$ ^[\S]$ ^[^\S]$ ^\d$ ^\D$ ^\w$ ^[\W]$
    ^[^\W\d]$ \bb a\B ^[\b]$ \cZ ^\x41$ ^\u0061 ^\u{1F33F}$ ^\ud83d\ude00$ ^[\ud83d\ude00]$ ^\ud83d$
    ^[\u{1F600}-\u{1F64F}]$ ^[🌿-😀]$ ^\0$ \/ ^[\-a]$ ^[a\-z]$ ^[-a]$ ^[a-]$ ^[[]$ ^[\]]$ ^\[$
    ^[[:alph]+$ ^[^a]$ ^[\^$.*+?()[\]{}|\\]$ \. ^\$$ ^\^$ ^(?<first>a)(?<$x>b)$ ^(?:a|ab)*$ ^(a|b)+?$
    ^x{1,2000}$ ^x{1500}$ ^x{1499}$ ^x{1501,}$ ^(?:x{2}){750}$ ^(?:x{1,40}){1,40}$ ^(ab){1000,1200}$
    ^(?:(?:ab){2}){500,}$ ^[ab]{2200}$ ^.{2,3}$ ^\w{2}$ ^[a-z]{3,}$ ^a{0}b$ ^(?:a{0,3}b?){2}$
    x{1200}$ ^\p{L}$ ^\p{Lu}$ ^\P{L}$ ^\p{Letter}$ ^\p{Script=Greek}$ ^\p{sc=Cyrillic}$ ^[\p{Ll}\d]+$
    ^\p{gc=Nd}$ ^\p{General_Category=Uppercase_Letter} ^\p{Letter_Number}$ ^\p{Lt}$ ^\p{Alphabetic}+$
    ^\p{ASCII}$ ^\p{Any}$ ^\p{LC}$ ^[\P{L}]$ ^\p{Punctuation}$ ^\p{Script=Han}+$ ^\p{White_Space}$`
    .trim()
    .split(/\s+/),
];

for (const pattern of patterns)
  test(`${pattern} accepts the texts that ECMA 262 says`, () => {
    const expected = texts.filter((text) => new RegExp(pattern, "u").test(text));
    expect(texts.filter((text) => matches(pattern, text))).toEqual(expected);
  });

test("what only the flag u forbids is taken as it is without the flag", () => {
  for (const pattern of String.raw`^[\w-.]+$ ^\_$ ^\-$ ^{$ ^a{$ ^]$ ^[\d-x]$ ^a{,2}$ ^\'|\@$`.split(" ")) {
    const expected = texts.filter((text) => new RegExp(pattern).test(text));
    expect([pattern, texts.filter((text) => matches(pattern, text))]).toEqual([pattern, expected]);
  }
});

function reason(pattern: string): string {
  try {
    compilePattern(pattern);
    return "";
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    return error.message.replace(`the pattern ${pattern} is not one of RE2, which takes linear time: `, "");
  }
}

test("a pattern that is not taken says why", () => {
  const reasons: Readonly<Record<string, string>> = {
    "(?=a)": "it has look-around",
    "a(?!b)": "it has look-around",
    "(?<=a)b": "it has look-around",
    "(?<!a)b": "it has look-around",
    "(a)\\1": "it has a back-reference",
    "(?<n>a)\\k<n>": "it has a back-reference",
    "(a": "Unterminated group",
    "a)": "Unmatched ')'",
    "[a": "Unterminated character class",
    "[b-a]": "Range out of order in character class",
    "*a": "Nothing to repeat",
    "a**": "Nothing to repeat",
    "^*": "Nothing to repeat",
    "a{3,2}": "numbers out of order in {} quantifier",
    "(?i)a": "Invalid group",
    "\\p{L}\\_": "Invalid escape",
    "\\u{110000}": "Invalid unicode escape",
    "a\\": "Invalid escape",
    "((a{1000}){1000}){1000}": "it repeats too much",
    "\\p{Nothing}": "Invalid property name",
  };
  expect(Object.fromEntries(Object.keys(reasons).map((pattern) => [pattern, reason(pattern)]))).toEqual(
    reasons,
  );
  expect(() => compilePattern("(".repeat(100_000) + ")".repeat(100_000))).toThrow("nested too deeply");
});

test("a pattern takes work for each of its instructions and characters, and a plain length does not", () => {
  const matchesInLimits = (pattern: string, text: string) =>
    compilePattern(pattern).matches(text, new Work());
  expect(matchesInLimits("^(a+)+$", `${"a".repeat(20_000)}b`)).toBe(false);
  expect(() => matchesInLimits("^(a+)+$", `${"a".repeat(1_000_000)}b`)).toThrow(WorkExceeded);
  expect(matchesInLimits("^[a-z]{1,100000}$", "a".repeat(100_000))).toBe(true);
  expect(matchesInLimits("^[a-z]{1,100000}$", "a".repeat(100_001))).toBe(false);
});
