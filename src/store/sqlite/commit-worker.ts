// The thread that owns the SQLite file, so that waiting for the disk never holds up the network.

import { OperatorError } from "../../operator-error.ts";
import {
  decodeBatch,
  encodeOutcomes,
  type ThreadCalls,
  type ThreadReply,
  type ThreadRequest,
} from "./batch-codec.ts";
import { DiskFailureError } from "./disk-failure.ts";
import { SqliteStore } from "./sqlite-store.ts";

declare const self: Worker;

let opened: SqliteStore | undefined;

const calls: {
  [Name in keyof ThreadCalls]: (
    ...args: Parameters<ThreadCalls[Name]>
  ) => Promise<ReturnType<ThreadCalls[Name]>>;
} = {
  async open(path, mode) {
    opened = new SqliteStore(path, mode, (reason) => reply({ kind: "unavailable", reason }));
  },
  create: async (packed) => encodeOutcomes(await store().create(decodeBatch(packed))),
  assertWritable: () => store().assertWritable(),
  addToken: (token) => store().tokens.add(token),
  addFirstToken: (token) => store().tokens.addFirst(token),
  rotateToken: (rotation) => store().tokens.rotate(rotation),
  withdrawToken: (hash) => store().tokens.revokeByHash(hash),
  revokeToken: (name, revokedAt) => store().tokens.revoke(name, revokedAt),
  recordTokenUses: (uses) => store().tokens.recordUses(uses),
  listTokens: () => store().tokens.list(),
  readActiveTokens: (now) => store().tokens.readActive(now),
  readTokenChanges: (since) => store().tokens.readChanges(since),
  findTokens: (hashes) => store().tokens.find(hashes),
  removeEndedTokens: (removal) => store().tokens.removeEnded(removal),
  indexStates: () => store().indexes.states(),
  createIndex: (name) => store().indexes.create(name),
  dropIndex: (name) => store().indexes.drop(name),
  close: () => store().close(),
};

self.onmessage = async ({ data }: MessageEvent<ThreadRequest>) => {
  try {
    const call = calls[data.call] as (...args: readonly unknown[]) => Promise<unknown>;
    reply({ kind: "result", result: await call(...data.args) });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof DiskFailureError) reply({ kind: "diskFailed", message });
    reply({ kind: "failure", message, isOperatorError: error instanceof OperatorError });
  }
};

function store(): SqliteStore {
  if (opened === undefined) throw new Error("The store was called before it was opened");
  return opened;
}

function reply(message: ThreadReply): void {
  self.postMessage(message);
}
