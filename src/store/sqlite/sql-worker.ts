// Runs reads in a worker, so that a slow statement delays neither commits nor the network.

import { receivedContract, type SentContract } from "../../contract/sent-contract.ts";
import { SqlReader } from "./sql-reader.ts";
import { serveCalls } from "./worker-rpc.ts";

serveCalls(openReadThread);

export async function openReadThread(path: string, contract: SentContract) {
  return { reader: SqlReader.open(path, receivedContract(contract)) };
}
