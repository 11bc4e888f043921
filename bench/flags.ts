// The flags that every suite takes.

import { parseArgs } from "node:util";
import { runSecondsMax } from "./load.ts";

const roundsMax = 100;

export interface Flags {
  readonly rounds: number;
  /** How long each run of a round takes. */
  readonly seconds: number;
}

/** Reads a suite's flags. Throws an error that says what would be right. */
export function readFlags(args: readonly string[]): Flags {
  const { values } = parseArgs({
    args: [...args],
    options: { rounds: { type: "string", default: "5" }, seconds: { type: "string", default: "5" } },
  });
  return {
    rounds: wholeNumber("--rounds", values.rounds, roundsMax),
    seconds: wholeNumber("--seconds", values.seconds, runSecondsMax),
  };
}

function wholeNumber(flag: string, text: string, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > max)
    throw new Error(`${flag} must be a whole number from 1 to ${max}, but is ${text}`);
  return value;
}
