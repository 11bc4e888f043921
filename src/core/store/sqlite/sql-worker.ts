// The worker of a SqlConnection that reads: a slow statement delays neither commits nor network.

import { openReader, type SqlCall } from "./sql-reader.ts";
import { serveCalls } from "./worker-rpc.ts";

serveCalls(openReadThread);

export async function openReadThread(path: string) {
  const reader = openReader(path);
  return {
    sql: {
      run: async (call: SqlCall) => reader.read(call),
      close: async () => reader.close(),
    },
  };
}
