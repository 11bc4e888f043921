// Matches texts against the patterns of a description by RE2, which takes linear time: a pattern is the
// author's, and the texts are a stranger's. No pattern of a description becomes a RegExp.

import type { RE2JS as Re2 } from "re2js";
import type { Work } from "../../contract/schema-check.ts";
import { hasLength } from "./values.ts";

export interface TextPattern {
  matches(text: string, work: Work): boolean;
}

/** Why a pattern cannot be used. */
export class PatternError extends Error {}

let engine: { readonly re2: typeof Re2; readonly toRe2: (pattern: string) => string } | undefined;

/** Loads the engine, which compilePattern uses: for descriptions with patterns only. */
export async function loadPatterns(): Promise<void> {
  if (engine !== undefined) return;
  const [{ RE2JS }, { toRe2 }] = await Promise.all([import("re2js"), import("./re2-patterns.ts")]);
  engine = { re2: RE2JS, toRe2 };
}

/**
 * Memory for the states of one pattern, in bytes. RE2 makes 8 MB of them by default, in 100 ms; without
 * room for more it goes on without them.
 */
const stateBytesMax = 1 << 17;

/**
 * Instructions of a pattern, times characters, that count as one step. At worst they take 60 ns, where
 * each character leads to a new state; with common patterns some 2 ns.
 */
const instructionsPerStep = 2;

/** A pattern that every text fits that can be stored. */
export function isStorablePattern(pattern: unknown): boolean {
  return pattern === "^[^\\x00]*$" || pattern === "^[^\\u0000]*$";
}

/** Throws a PatternError. */
export function compilePattern(pattern: string): TextPattern {
  if (engine === undefined) throw new Error("the engine of patterns is not loaded");
  if (isStorablePattern(pattern)) return { matches: (text) => !text.includes("\0") };
  const { rest, accepts } = wholeLength(pattern);
  let compiled: Re2;
  try {
    compiled = engine.re2.compile(engine.toRe2(rest));
  } catch (error) {
    if (error instanceof RangeError) throw new PatternError(`the pattern ${pattern} is nested too deeply`);
    const reason = (error as Error).message.replace(/^error parsing regexp: /, "");
    throw new PatternError(`the pattern ${pattern} is not one of RE2, which takes linear time: ${reason}`);
  }
  const re2 = compiled.re2();
  re2.dfa.stateBudget = stateBytesMax;
  re2.dfa.memBudget = stateBytesMax;
  // A pattern of one pass has one state at a time.
  const instructions = re2.onepass === null ? compiled.programSize() : 2;
  return {
    matches(text, work) {
      work.spend(Math.ceil((instructions * (text.length + 1)) / instructionsPerStep));
      return accepts(text) && compiled.test(text);
    },
  };
}

/**
 * Takes the limits from a pattern such as `^[a-z]{1,2000}$`, which are those of the text's length: as
 * a pattern they would be 2000 instructions.
 */
function wholeLength(pattern: string): { rest: string; accepts: (text: string) => boolean } {
  const [, atom, least, comma, most] =
    /^\^([^\\^$*+?()[\]{}|]|\\[dDwWsS]|\[(?:[^[\]\\]|\\.)+\])\{(\d+)(,?)(\d*)\}\$$/su.exec(pattern) ?? [];
  if (atom === undefined) return { rest: pattern, accepts: () => true };
  const greatest = most !== "" ? Number(most) : comma === "" ? Number(least) : Number.POSITIVE_INFINITY;
  return { rest: `^${atom}*$`, accepts: (text) => hasLength(text, Number(least), greatest) };
}
