// Edits plants for the commands, each with a line for the audit and an entry in the history.

import { type NewPlant, type Plant, plantsEqual } from "../core/contract/plant.ts";
import { hasColours } from "../core/observability/terminal.ts";
import { OperatorError } from "../core/operator-error.ts";
import type { CommandStore } from "../core/store/plant-store.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";
import { type Editor, EditRun } from "../operations/edits.ts";
import { findPlant } from "../operations/stored-plants.ts";
import { host } from "./host.ts";
import { noSuchPlant } from "./id-argument.ts";
import { printError } from "./output.ts";
import { withStore } from "./with-store.ts";

/**
 * Replaces stored plants by the results of `replace`, or deletes those for which it is undefined.
 * One that is missing, or was changed at the same time, is left: if it is the only one, the reason
 * is thrown, and otherwise printed. Returns how many were left.
 */
export async function editPlants(
  database: string,
  ids: readonly bigint[],
  replace: (stored: NewPlant) => Plant | undefined,
): Promise<number> {
  // Loading it takes 15 ms of processor time.
  const { Log } = await import("../core/observability/log.ts");
  const { error, environment, log: output } = host();
  const onTerminal = error.isTTY;
  const log = new Log({
    format: onTerminal ? "pretty" : "json",
    colours: hasColours(onTerminal, environment),
    level: "info",
    accessLinesPerSecond: 0,
    now: performance.now.bind(performance),
    output,
  });
  const { user, sudoUser } = commandEditor();
  let left = 0;
  try {
    await withStore(database, "writable", async (store) => {
      await using sql = await store.openSql("read");
      const run = newEditRun(store);
      for (const id of ids) {
        const result = await editPlant(sql, run, id, replace);
        if (result instanceof OperatorError) {
          if (ids.length === 1) throw result;
          printError(`plantstore: ${result.message}`);
          left++;
        } else if (result !== "unchanged") {
          const fields = { id: String(id), by: "command", user, sudoUser };
          log.handle({ kind: "notice", message: `plant ${result}`, fields });
        }
      }
    });
  } finally {
    await log.end();
  }
  return left;
}

/** Returns what was done, or why the plant was left as it is. */
async function editPlant(
  sql: SqlConnection,
  run: EditRun,
  id: bigint,
  replace: (stored: NewPlant) => Plant | undefined,
): Promise<"updated" | "deleted" | "unchanged" | OperatorError> {
  const expected = await findPlant(sql, id);
  if (expected === undefined) return noSuchPlant(id);
  const replacement = replace(expected);
  if (replacement !== undefined && plantsEqual(expected, replacement)) return "unchanged";
  const [outcome] = await run.edit([{ id, expected, replacement }]);
  if (outcome === "missing") return noSuchPlant(id);
  if (outcome === "changed")
    return new OperatorError(
      `the plant ${id} was changed at the same time, and was left as it is; try again`,
    );
  return replacement === undefined ? "deleted" : "updated";
}

/** A run of the history by the user of this process. */
export function newEditRun(store: CommandStore): EditRun {
  return new EditRun(store, commandEditor());
}

/** The user of this process, for the history. */
export function commandEditor(): Editor & { readonly user: string } {
  const sudoUser = host().environment.SUDO_USER;
  const uid = process.getuid?.();
  return {
    by: "command",
    ...(uid !== undefined && { uid }),
    user: userName(),
    ...(sudoUser !== undefined && { sudoUser }),
  };
}

/** The name of this process' user id. os.userInfo() returns $USER in Bun, which anybody can set. */
function userName(): string {
  const uid = `uid ${process.getuid?.()}`;
  try {
    const { exitCode, stdout } = Bun.spawnSync(["/usr/bin/id", "-un"], { stderr: "ignore" });
    // A container may run under a user id without a name.
    return exitCode === 0 ? stdout.toString().trim() : uid;
  } catch (error) {
    // The single-file executable also runs where `id` is missing.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return uid;
  }
}
