// Reads a SQLite store for extras and operations in a thread of its own.

import type { Contract } from "../../contract/contract.ts";
import { sentContract } from "../../contract/sent-contract.ts";
import { Groups } from "../groups.ts";
import type { FoundPlant } from "../shared/found-plants.ts";
import type { Page, ReadConnection } from "../shared/page.ts";
import { connectionClosed, type FoundTexts, type PageCall, pagesMax, sqliteTraits } from "./sql-reader.ts";
import type { openReadThread } from "./sql-worker.ts";
import { type SentError, toError, WorkerClient } from "./worker-rpc.ts";

/**
 * Opens a connection that reads a store in its own thread. Rejects with an OperatorError.
 *
 * @param onFailed called if the thread dies, as every later call rejects.
 */
export async function openReadConnection(
  path: string,
  contract: Contract,
  onFailed: (error: Error) => void,
): Promise<ReadConnection> {
  let isOpen = false;
  const worker = new WorkerClient<typeof openReadThread>(new URL("./sql-worker", import.meta.url), {
    name: "sql",
    // ListReads makes at most shortCallsMax at the same time, and groups are two.
    short: ["pages", "count", "findTexts", "get"],
    // One that cannot start rejects here.
    onFailed: (error) => isOpen && onFailed(error),
  });
  try {
    await worker.open(path, sentContract(contract));
  } catch (error) {
    worker.end(true);
    throw error;
  }
  isOpen = true;
  const { reader } = worker.served;
  // The calls have had their turns.
  const limits = { callsMax: pagesMax, groupsMax: 2, waitMsMax: Number.POSITIVE_INFINITY };
  const pages = new Groups(limits, async (calls: readonly PageCall[]) =>
    (await reader.pages(calls)).map(settled),
  );
  return {
    ...sqliteTraits,
    query: reader.query,
    async find(query) {
      const texts = await reader.findTexts(query);
      return query.ids.map((_, index) => foundAt(texts, index));
    },
    get: reader.get,
    page: (...call) => pages.add("", call),
    count: reader.count,
    async [Symbol.asyncDispose]() {
      const closed = connectionClosed();
      worker.rejectQueued(closed);
      await reader.close();
      worker.end(true, closed);
    },
  };
}

/** The plant at a place of the query. */
function foundAt(texts: FoundTexts, index: number): FoundPlant | undefined {
  const [json, tag] = [texts[index], texts[texts.length / 2 + index]];
  return json === undefined || tag === undefined ? undefined : { json, tag };
}

function settled(result: Page | SentError): Page | Promise<Page> {
  return "errorClass" in result ? Promise.reject(toError(result)) : result;
}
