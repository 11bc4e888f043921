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
    return error.message.replace(`the pattern ${pattern} is not one of `, "");
  }
}

test("a pattern that is not taken says why", () => {
  const re2 = (what: string) => `RE2, which has no look-around and no back-references (it has ${what})`;
  const ecma = (why: string) => `ECMA 262 that is supported: ${why}`;
  const reasons: Readonly<Record<string, string>> = {
    "(?=a)": re2("look-around"),
    "a(?!b)": re2("look-around"),
    "(?<=a)b": re2("look-around"),
    "(?<!a)b": re2("look-around"),
    "(a)\\1": re2("a back-reference"),
    "(?<n>a)\\k<n>": re2("a back-reference"),
    "(a": ecma("a group is not closed"),
    "a)": ecma("a parenthesis is closed that is not open"),
    "[a": ecma("a class of characters is not closed"),
    "[b-a]": ecma("a range of characters is out of order"),
    "*a": ecma("there is nothing that * repeats"),
    "a**": ecma("there is nothing that * repeats"),
    "^*": ecma("there is nothing that * repeats"),
    "a{3,2}": ecma("the numbers of {3,2} are out of order"),
    "(?i)a": ecma("a group starts with ( or (?: or (?<name>"),
    "\\A": ecma("\\A is no escape of ECMA 262"),
    "\\Qa\\E": ecma("\\Q is no escape of ECMA 262"),
    "\\pL": ecma("\\p is not complete"),
    "\\u12": ecma("\\u is not complete"),
    "\\u{110000}": ecma("a code point is past 10FFFF"),
    "a\\": ecma("it ends with a backslash"),
    "((a{1000}){1000}){1000}": ecma("it repeats too much"),
    "\\p{Nothing}": ecma("invalid character class range: `\\p{Nothing}`"),
    [`${"(".repeat(300)}a${")".repeat(300)}`]: ecma("its groups are nested too deeply"),
  };
  expect(Object.fromEntries(Object.keys(reasons).map((pattern) => [pattern, reason(pattern)]))).toEqual(
    reasons,
  );
});

test("a pattern takes work for each of its instructions and characters, and a plain length does not", () => {
  const matchesInLimits = (pattern: string, text: string) =>
    compilePattern(pattern).matches(text, new Work());
  expect(matchesInLimits("^(a+)+$", `${"a".repeat(20_000)}b`)).toBe(false);
  expect(() => matchesInLimits("^(a+)+$", `${"a".repeat(1_000_000)}b`)).toThrow(WorkExceeded);
  expect(matchesInLimits("^[a-z]{1,100000}$", "a".repeat(100_000))).toBe(true);
  expect(matchesInLimits("^[a-z]{1,100000}$", "a".repeat(100_001))).toBe(false);
});
