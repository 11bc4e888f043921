// Opens the file of a store whose contract another thread has chosen, without loading what chooses it, and
// tells whether the store has another one since.

import { OperatorError } from "../../base/operator-error.ts";
import type { Contract } from "../../contract/contract.ts";
import type { OpenDatabase } from "./connection.ts";
import type { Database } from "./driver.ts";
import { describingErrors, openFile } from "./open-file.ts";

/** Throws an OperatorError, also if the store has got another contract. */
export function openChosen(path: string, contract: Contract): OpenDatabase {
  const { database } = openFile(path, "writable", () => undefined);
  if (describingErrors(path, () => readContractNumber(database)) === contract.number)
    return { database, contract };
  database.close();
  throw new OperatorError(`${path} got another contract while it was being opened; try again`);
}

/** Reads the number of the contract of a store: 1.5 µs. */
export function readContractNumber(database: Database): number {
  return Number(database.query<{ number: bigint }, []>("SELECT number FROM contract").get()?.number);
}
