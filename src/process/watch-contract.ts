// Gives the store of a server the contract of a file whenever that changes, or says why it cannot.

import { OperatorError } from "../base/operator-error.ts";
import type { Emit } from "../base/server-event.ts";
import type { Contract, ContractSource } from "../contract/contract.ts";
import { compiler } from "../openapi/compiler.ts";
import { contractChanges } from "../openapi/files/contract-changes.ts";
import { ownProgram } from "./command-name.ts";

interface WatchedContract {
  readonly file: string;
  /** As it was read at the start. */
  readonly source: ContractSource;
  readonly database: string;
  /** Rejects with an OperatorError if the server cannot serve a contract. */
  readonly assertServable: (contract: Contract) => Promise<void>;
  readonly emit: Emit;
}

/** Watches until it is disposed. The server takes the contract over from its store. */
export function watchContract(watched: WatchedContract): AsyncDisposable {
  const stop = new AbortController();
  const watching = follow(watched, stop.signal);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await watching;
    },
  };
}

async function follow(
  { file, source, emit, ...watched }: WatchedContract,
  signal: AbortSignal,
): Promise<void> {
  for await (const change of contractChanges(file, source, signal)) {
    const fault = "fault" in change ? change.fault : await takeOver(change, file, watched);
    if (fault !== undefined) emit({ kind: "notice", message: `${file} is not taken over: ${fault}` });
  }
}

/** Gives the store a contract; why it cannot, if so. */
async function takeOver(
  source: ContractSource,
  file: string,
  { database, assertServable }: Pick<WatchedContract, "database" | "assertServable">,
): Promise<string | undefined> {
  try {
    await assertServable(await compiler(source));
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return error.message;
  }
  // In a process of its own: one that closes a SQLite file would lose its server's locks on it.
  const child = Bun.spawn([...ownProgram(), "migrate", "--contract", file], {
    env: { ...process.env, PLANTSTORE_DATABASE: database, PLANTSTORE_DATABASE_FILE: undefined },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const printed = await new Response(child.stderr).text();
  return (await child.exited) === 0 ? undefined : printed.trim().replace(/^plantstore: /, "");
}
