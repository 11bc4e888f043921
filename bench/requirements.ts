// What a suite needs that `npm ci` does not bring, and one line that says how to get it.

import { existsSync } from "node:fs";

/** Something that a suite needs. */
export interface Requirement {
  readonly name: string;
  readonly isMet: boolean;
  /** A package of Debian's, or a command. */
  readonly install: { readonly debian: string } | { readonly command: string };
}

export function program(name: string, path: string | null | undefined, debian: string): Requirement {
  return { name, isMet: typeof path === "string", install: { debian } };
}

/** The packages of a peer in bench/peers/. */
export function peerPackages(peer: string, file: string): Requirement {
  return {
    name: `the packages of bench/peers/${peer}`,
    isMet: existsSync(file),
    install: { command: `npm ci --prefix bench/peers/${peer}` },
  };
}

/** Throws an error whose message names all that is missing and the command that brings it. */
export function assertMet(requirements: readonly Requirement[]): void {
  const missing = requirements.filter(({ isMet }) => !isMet);
  if (missing.length === 0) return;
  const debian = missing.flatMap(({ install }) => ("debian" in install ? [install.debian] : []));
  const commands = missing.flatMap(({ install }) => ("command" in install ? [install.command] : []));
  if (debian.length > 0) commands.unshift(`sudo apt-get install --yes ${debian.join(" ")}`);
  throw new Error(
    `not installed: ${missing.map(({ name }) => name).join(", ")}; run: ${commands.join(" && ")}`,
  );
}
