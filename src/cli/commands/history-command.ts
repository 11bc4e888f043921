// plantstore history: lists the edits of plants, and undoes those of a run.

import { Command } from "commander";
import { ApiError } from "../../base/errors.ts";
import { OperatorError } from "../../base/operator-error.ts";
import type { Contract } from "../../contract/contract.ts";
import { plantJson } from "../../contract/plant.ts";
import { type Editor, pauseMsMax } from "../../plants/edit-run.ts";
import {
  type HistoryCursor,
  type HistoryEntry,
  type HistoryFilter,
  listEdits,
  type RecordedPlant,
  undoRun,
} from "../../plants/edits.ts";
import { parseId } from "../../process/config/parsers.ts";
import type { Config } from "../../process/config/resolve.ts";
import { host } from "../../process/host.ts";
import { formatCount, formatTable, printError, printStored } from "../../process/output.ts";
import { countForgotten } from "../../store/shared/forgotten-edits.ts";
import type { SqlConnection } from "../../store/sql-connection.ts";
import { withSettings } from "../command-options.ts";
import { chosenCollection } from "./collection-setting.ts";
import { describeChange } from "./describe-change.ts";
import { commandRun } from "./edit-plants.ts";
import { withStore } from "./with-store.ts";

const settingNames = [
  "collection",
  "historySince",
  "historyUndo",
  "historyForget",
  "historyBefore",
  "yes",
  "json",
  "database",
] as const;
type HistoryConfig = Config<(typeof settingNames)[number]>;

/** The exit code of an undo that left some plants as they are. */
const someLeftExitCode = 3;

/** An edit of an earlier contract, whose values are of other types. */
const unreadable = "cannot be read by the contract of today";

/** Counting 50 million edits takes some seconds. */
const countMsMax = 10 * 60_000;

/** The maximum number of printed ids that an undo skipped. */
const printedIdsMax = 10;

export function historyCommand(): Command {
  const command = new Command("history")
    .description("print who changed or deleted resources, latest first, undo a run, or forget edits")
    .argument("[ids...]", "only the edits of the resource with this id; several for --forget")
    .addHelpText(
      "after",
      `
All edits of one command, or of one click in the console, are one run. --undo RUN
restores the plants of a run; with an id, only that plant. A plant that has
changed since stays as it is, and the exit code is 3. An undo is itself a run.
Creates are not edits: plants that an import created stay.

--forget erases edits for good: their values are gone from the file of the store
when the command ends. They can no longer be undone. Backups keep what they have.`,
    );
  return withSettings(command, settingNames, async (config, texts: string[]) => {
    const { historyUndo: run, historySince: since, historyForget, historyBefore, json, database } = config;
    if (historyForget) return forget(config, texts);
    if (historyBefore !== undefined || config.yes)
      throw new OperatorError("--before and --yes are for --forget", 2);
    const [text, ...others] = texts;
    if (others.length > 0) throw new OperatorError("name one id, or several with --forget", 2);
    if (run !== undefined) return undo(config, run, text);
    await withStore(database, "existing", async (store) => {
      const { contract } = store;
      const filter = { ...filterOf(contract, config, text), since };
      await using read = await store.openSql();
      await printStored(historyLines(contract, read, filter, json));
    });
  });
}

/** The collection that is named, and the plant in it. Throws an OperatorError. */
function filterOf(
  contract: Contract,
  { collection: wanted }: HistoryConfig,
  text: string | undefined,
): Pick<HistoryFilter, "collection" | "id"> {
  if (wanted === undefined && text === undefined) return {};
  const collection = chosenCollection(contract, wanted);
  return { collection, id: text === undefined ? undefined : parseId(collection, text) };
}

async function* historyLines(
  contract: Contract,
  sql: SqlConnection,
  filter: HistoryFilter,
  isJson: boolean,
): AsyncGenerator<string> {
  const { collections } = contract;
  const [first, ...others] = collections;
  const isSeveral = others.length > 0;
  const names = isSeveral ? ["COLLECTION", "ID"] : [first?.words.one.toUpperCase() ?? ""];
  let after: HistoryCursor | undefined;
  do {
    const { entries, next } = await listEdits(contract, sql, { ...filter, after });
    const header = after === undefined && !isJson ? [["WHEN", "RUN", ...names, "WHO", "WHAT"]] : [];
    const lines = isJson
      ? entries.map(entryJson)
      : formatTable([...header, ...entries.map((entry) => entryCells(entry, isSeveral))]);
    yield lines.map((line) => `${line}\n`).join("");
    after = next;
  } while (after !== undefined);
}

function entryCells(
  { run, collection, id, editedAt, editor, before, after }: HistoryEntry,
  hasCollection: boolean,
): string[] {
  return [
    new Date(editedAt).toISOString(),
    run,
    ...(hasCollection ? [collection.name] : []),
    String(id),
    describeEditor(editor),
    before instanceof ApiError || after instanceof ApiError
      ? unreadable
      : describeChange(collection, before?.values, after?.values),
  ];
}

function describeEditor({ by, token, client, uid, user, sudoUser }: Editor): string {
  if (by === "client") return `client, ${token}`;
  if (by === "console") return client === undefined ? "console" : `console, ${client}`;
  const name = user === undefined ? `uid ${uid}` : `${user} (uid ${uid})`;
  return sudoUser === undefined ? name : `${name}, sudo by ${sudoUser}`;
}

/** Ids are exact, also those of the plants, which are as in request bodies. */
function entryJson({ run, collection, id, editedAt, editor, before, after }: HistoryEntry): string {
  const at = new Date(editedAt).toISOString();
  const head = JSON.stringify({ run, editedAt: at, editor, collection: collection.name });
  const json = (plant: RecordedPlant) => {
    if (plant === undefined) return "null";
    return plant instanceof ApiError ? JSON.stringify(unreadable) : plantJson(collection, plant);
  };
  return `${head.slice(0, -1)},"id":${collection.id.type.toJson(id)},"before":${json(before)},"after":${json(after)}}`;
}

async function undo(config: HistoryConfig, run: string, text: string | undefined): Promise<void> {
  await withStore(config.database, "writable", async (store) => {
    const { collection, id } = filterOf(store.contract, config, text);
    await using read = await store.openSql();
    const undo = commandRun(store);
    const filter = { run, collection, id };
    const { found, undone, unchanged, left, refused } = await undoRun(store.contract, undo, read, filter);
    if (found === 0)
      throw new OperatorError(
        `the history has no run ${run}${text === undefined ? "" : ` with the ${collection?.words.one} ${text}`}, or was told to forget it; "plantstore history" lists the runs`,
      );
    printError(
      `${undone.toLocaleString("en")} undone, ${unchanged.toLocaleString("en")} already as before, ${left.length.toLocaleString("en")} changed since and left as they are${undone === 0 ? "" : `; the run of this undo is ${undo.id}`}`,
    );
    if (left.length + refused.size === 0) return;
    const more = (count: number) => (count > printedIdsMax ? ` and ${count - printedIdsMax} more` : "");
    if (left.length > 0) printError(`Left: ${left.slice(0, printedIdsMax).join(", ")}${more(left.length)}.`);
    for (const [id, reason] of [...refused].slice(0, printedIdsMax))
      printError(`Not undone: ${id}, which the contract of today does not allow as it was. ${reason}`);
    if (refused.size > printedIdsMax) printError(`Not undone:${more(refused.size)}.`);
    host().setExitCode(someLeftExitCode);
  });
}

/** Erases edits, and says how many and what still has them. */
async function forget(config: HistoryConfig, texts: readonly string[]): Promise<void> {
  const { collection: wanted, historyBefore: before, historySince, historyUndo, yes, database } = config;
  if (historySince !== undefined || historyUndo !== undefined)
    throw new OperatorError("--since and --undo are not for --forget", 2);
  if (texts.length === 0 && (before === undefined || wanted !== undefined))
    throw new OperatorError("name the ids whose edits are to be forgotten, or a time with --before alone", 2);
  await withStore(database, "writable", async (store) => {
    const collection = texts.length === 0 ? undefined : chosenCollection(store.contract, wanted);
    const ids = collection && texts.map((text) => String(parseId(collection, text)));
    const forgotten = { plants: collection && { table: collection.table, ids: ids ?? [] }, before };
    await using sql = await store.openSql();
    const { sql: text, parameters } = countForgotten(forgotten);
    const [row] = await sql.query<{ edits: bigint; runs: bigint }>(text, parameters, countMsMax);
    const edits = formatCount(Number(row?.edits), { one: "edit", many: "edits" });
    const runs = formatCount(Number(row?.runs), { one: "run", many: "runs" });
    if (!yes)
      throw new OperatorError(
        `${edits} of ${runs} would be forgotten for good, and could not be undone; add --yes to forget them`,
        2,
      );
    for (;;) {
      const startedAt = performance.now();
      if ((await store.forget(forgotten)) === 0) break;
      // Leaves the lock of a file to servers for as long as it was held.
      if (store.engine === "sqlite") await Bun.sleep(Math.min(performance.now() - startedAt, pauseMsMax));
    }
    const notes = await store.purge();
    printError(`${edits} of ${runs} forgotten; backups, and exports, still have what they hold`);
    for (const note of notes) printError(`plantstore: ${note}`);
    if (notes.length > 0) host().setExitCode(someLeftExitCode);
  });
}
