// The runs of the suite "transfer": imports into new stores and exports from a full one, ours and the tool's in turns.

import { type PlantFiles, writePlantFiles } from "./plant-files.ts";
import { plantstore } from "./plantstore.ts";
import { runTimed, runToEnd, type Took } from "./processes.ts";
import type { Place, PlaceMaker } from "./transfer-places.ts";

/** Who moves the plants: our command with one of the formats, or the engine's own tool. */
export const movers = ["csv", "ndjson", "tool"] as const;

export type Mover = (typeof movers)[number];

export type Direction = "import" | "export";

/** One run of one mover. */
export interface TransferRun extends Took {
  readonly engine: string;
  readonly direction: Direction;
  readonly mover: Mover;
  readonly round: number;
  readonly plants: number;
}

export interface TransferPlan {
  readonly folder: string;
  readonly places: readonly PlaceMaker[];
  readonly plants: number;
  readonly rounds: number;
  readonly movers: readonly Mover[];
  readonly tell: (line: string) => void;
}

/** All runs of a plan. Throws if a store or an exported file has not as many plants as it should. */
export async function runTransfers(plan: TransferPlan): Promise<TransferRun[]> {
  const files = await writePlantFiles(plan.folder, plan.plants);
  const runs: TransferRun[] = [];
  for (const maker of plan.places) {
    for (let round = 1; round <= plan.rounds; round++) {
      for (const mover of inTurn(plan.movers, round))
        runs.push(await runImport(plan, maker, files, mover, round));
    }
    const full = await maker.newPlace();
    await runToEnd([plantstore, "import", files.csv, "--quiet", "--database", full.database]);
    for (let round = 1; round <= plan.rounds; round++) {
      for (const mover of inTurn(plan.movers, round))
        runs.push(await runExport(plan, maker, full, mover, round));
    }
    await full.remove();
  }
  for (const file of Object.values(files)) await Bun.file(file).delete();
  return runs;
}

async function runImport(
  { folder, plants, tell }: TransferPlan,
  maker: PlaceMaker,
  files: PlantFiles,
  mover: Mover,
  round: number,
): Promise<TransferRun> {
  const place = await maker.newPlace();
  const command =
    mover === "tool"
      ? place.toolImport(files.csv)
      : [plantstore, "import", files[mover], "--quiet", "--database", place.database];
  const took = await runTimed(command, `${folder}/output`);
  assertPlants(`the ${maker.engine} store of ${mover}`, await place.rows(), plants);
  await place.remove();
  return told({ engine: maker.engine, direction: "import", mover, round, plants, ...took }, tell);
}

async function runExport(
  { folder, plants, tell }: TransferPlan,
  maker: PlaceMaker,
  full: Place,
  mover: Mover,
  round: number,
): Promise<TransferRun> {
  const command =
    mover === "tool"
      ? full.toolExport
      : [plantstore, "export", "--format", mover, "--quiet", "--database", full.database];
  const output = `${folder}/output`;
  const took = await runTimed(command, output);
  const heads = mover === "csv" ? 1 : 0;
  assertPlants(`the file that ${mover} exported`, (await linesIn(output)) - heads, plants);
  await Bun.file(output).delete();
  return told({ engine: maker.engine, direction: "export", mover, round, plants, ...took }, tell);
}

function told(run: TransferRun, tell: (line: string) => void): TransferRun {
  const { engine, direction, mover, round, plants, seconds, peakBytes } = run;
  tell(
    `${engine} ${direction} ${mover}, round ${round}: ${plants} plants, ${seconds.toFixed(2)} s, ${Math.round(peakBytes / 1e6)} MB`,
  );
  return run;
}

function assertPlants(what: string, has: number, plants: number): void {
  if (has !== plants) throw new Error(`${what} has ${has} plants instead of ${plants}`);
}

const lineFeed = 0x0a;

async function linesIn(file: string): Promise<number> {
  let lines = 0;
  for await (const chunk of Bun.file(file).stream()) {
    for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, at + 1)) lines++;
  }
  return lines;
}

/** Nobody is always first. */
function inTurn(all: readonly Mover[], round: number): Mover[] {
  const start = round % all.length;
  return [...all.slice(start), ...all.slice(0, start)];
}
