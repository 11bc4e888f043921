// Opens the store for one command, and closes it at the end.

import { compiler } from "../../openapi/compiler.ts";
import { printError } from "../../process/output.ts";
import { storeAt } from "../../store/open-store.ts";
import type { OnUnavailable, OpenMode, OpenOptions, PlantStore } from "../../store/plant-store.ts";

interface WithStoreOptions
  extends Pick<OpenOptions, "contract" | "dropFields" | "renames" | "onMigrated" | "onProgress" | "signal"> {
  /** Called with the reason when a plant cannot be created. */
  readonly onUnavailable?: OnUnavailable;
}

/** Closes the store also if `use` fails: an open connection would keep the process running. */
export async function withStore<Result>(
  database: string,
  mode: OpenMode,
  use: (store: PlantStore) => Promise<Result>,
  { onUnavailable = () => undefined, ...options }: WithStoreOptions = {},
): Promise<Result> {
  const report = (waitingFor: string) => printError(`waiting for ${waitingFor}`);
  await using store = await storeAt(database).open(mode, onUnavailable, {
    compiler,
    report,
    onIndex: printError,
    ...options,
  });
  return await use(store);
}
