// The flags that the suites take.

import { parseArgs } from "node:util";
import { runSecondsMax } from "./load.ts";

const roundsMax = 100;
const plantsMax = 100_000_000;

export interface Flags {
  readonly rounds: number;
  /** How long each run of a round takes. */
  readonly seconds: number;
}

const options = {
  rounds: { type: "string", default: "5" },
  seconds: { type: "string", default: "5" },
} as const;

/** Reads a suite's flags. Throws an error that says what would be right. */
export function readFlags(args: readonly string[]): Flags {
  return flagsFrom(parseArgs({ args: [...args], options }).values);
}

/** The same of a suite that compares with another commit, --against COMMIT. */
export function readFlagsAgainst(
  args: readonly string[],
  commit: string,
): Flags & { readonly against: string } {
  const { values } = parseArgs({
    args: [...args],
    options: { ...options, against: { type: "string", default: commit } },
  });
  return { ...flagsFrom(values), against: values.against };
}

function flagsFrom(values: { readonly rounds: string; readonly seconds: string }): Flags {
  return {
    rounds: wholeNumber("--rounds", values.rounds, roundsMax),
    seconds: wholeNumber("--seconds", values.seconds, runSecondsMax),
  };
}

export interface TransferFlags {
  readonly rounds: number;
  readonly plants: number;
  /** For the memory alone: what it takes is to be the same as for fewer. */
  readonly plantsMore: number;
}

/** Reads the flags of the suite "transfer". Throws an error that says what would be right. */
export function readTransferFlags(args: readonly string[]): TransferFlags {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "3" },
      plants: { type: "string", default: "2000000" },
      "plants-more": { type: "string", default: "10000000" },
    },
  });
  return {
    rounds: wholeNumber("--rounds", values.rounds, roundsMax),
    plants: wholeNumber("--plants", values.plants, plantsMax),
    plantsMore: wholeNumber("--plants-more", values["plants-more"], plantsMax),
  };
}

export interface ConsoleFlags extends Flags {
  /** In each store that is read. */
  readonly plants: number;
}

/** Reads the flags of the suite "console". Throws an error that says what would be right. */
export function readConsoleFlags(args: readonly string[]): ConsoleFlags {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "7" },
      seconds: { type: "string", default: "5" },
      plants: { type: "string", default: "10000000" },
    },
  });
  return {
    rounds: wholeNumber("--rounds", values.rounds, roundsMax),
    seconds: wholeNumber("--seconds", values.seconds, runSecondsMax),
    plants: wholeNumber("--plants", values.plants, plantsMax),
  };
}

function wholeNumber(flag: string, text: string, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > max)
    throw new Error(`${flag} must be a whole number from 1 to ${max}, but is ${text}`);
  return value;
}
