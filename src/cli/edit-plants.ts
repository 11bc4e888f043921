// What the commands that edit plants share: editing what is stored, with a line for the audit.

import type { NewPlant, Plant } from "../core/contract/plant.ts";
import type { PlantEdited } from "../core/observability/server-event.ts";
import { textStyle } from "../core/observability/terminal.ts";
import { OperatorError } from "../core/operator-error.ts";
import type { ReadablePlantStore } from "../core/store/plant-store.ts";
import { noSuchPlant } from "./id-argument.ts";
import { isErrorTerminal } from "./output.ts";
import { withStore } from "./with-store.ts";

/** Edits the plants of a command; `edited` is to be called after each edit. */
export async function editPlants(
  database: string,
  work: (
    store: ReadablePlantStore,
    edited: (change: PlantEdited["change"], id: bigint) => void,
  ) => Promise<void>,
): Promise<void> {
  // Loading it takes 15 ms of processor time, which other commands that read an id do without.
  const { Log } = await import("../core/observability/log.ts");
  const onTerminal = isErrorTerminal();
  const log = new Log({
    format: onTerminal ? "pretty" : "json",
    style: textStyle(onTerminal, process.env),
    hasBanner: false,
    level: "info",
    accessLinesPerSecond: 0,
    now: performance.now.bind(performance),
  });
  const user = userName();
  const sudoUser = process.env.SUDO_USER;
  try {
    await withStore(database, "writable", (store) =>
      work(store, (change, id) =>
        log.handle({ kind: "plantEdited", change, id, by: "command", user, sudoUser }),
      ),
    );
  } finally {
    await log.end();
  }
}

/**
 * Replaces a stored plant by what `replace` makes of it, or deletes it where that is undefined. Rejects with an OperatorError
 * if it is not there, or is changed at the same time.
 */
export async function editStored(
  store: ReadablePlantStore,
  id: bigint,
  replace: (stored: NewPlant) => Plant | undefined,
): Promise<void> {
  const expected = await store.get(id);
  if (expected === undefined) throw noSuchPlant(id);
  const outcome = await store.edit({ id, expected, replacement: replace(expected) });
  if (outcome === "missing") throw noSuchPlant(id);
  if (outcome === "changed")
    throw new OperatorError(`the plant ${id} was changed at the same time, and was left as it is; try again`);
}

/** The name of this process' user id. os.userInfo() returns $USER in Bun, which anybody can set and cron does not. */
function userName(): string {
  const uid = `uid ${process.getuid?.()}`;
  try {
    const { exitCode, stdout } = Bun.spawnSync(["/usr/bin/id", "-un"], { stderr: "ignore" });
    // A container may run under a user id without a name.
    return exitCode === 0 ? stdout.toString().trim() : uid;
  } catch (error) {
    // The single file also runs where there is no other program.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return uid;
  }
}
