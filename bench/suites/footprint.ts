// The suite "footprint": the size of each form in which the service is installed, the start of those that run by themselves, and
// the disk that a plant takes.

import { copyFileSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../package.json";
import { build, executableName, hostTarget } from "../../scripts/build.ts";
import { buildDeb } from "../../scripts/build-deb.ts";
import { packServer, succeed } from "../../test/support/npm-packages.ts";
import { TemporaryFolder } from "../../test/support/server.ts";
import { CountedStore, countSqliteRows } from "../durability-audit.ts";
import { writePlantFile } from "../plant-files.ts";
import { findProgram, runProgram } from "../processes.ts";
import { thisCommit } from "../subjects/plantstore.ts";
import { BenchPostgres } from "../subjects/postgres.ts";
import type { Load, Scenario, Setup, Subject, Suite, Threshold } from "../suite.ts";
import { createStarter, elapsed, processor, type Starter, startServer } from "./start.ts";

export const footprintSuite: Suite = {
  name: "footprint",
  title: "Footprint",
  summary:
    "The single file, the npm package, the Debian package and the image of this commit: what is downloaded, what is installed (Bun included), and from exec to the first create that is answered with 200; and the files of stores after an import of plants with 40 bytes of text.",
  programs: { npm: "npm", "dpkg-deb": "dpkg" },
  defaults: { rounds: 7, seconds: 1, plants: 200_000 },
  scenarios: [sizes, starts, stores],
};

const megabytes = "MB";

interface Form extends Subject {
  /** In bytes, by load; absent where it does not apply. */
  readonly sizes: Readonly<Partial<Record<string, number>>>;
}

const [downloaded, installed] = ["downloaded", "installed"];

async function sizes(setup: Setup): Promise<Scenario<Form>> {
  const { folder, progress } = setup;
  progress("building");
  const executable = await build(hostTarget(), join(folder, executableName(hostTarget())));
  const forms: Form[] = [
    { name: "single file", sizes: { [installed]: statSync(executable).size } },
    { name: "npm package", sizes: await npmSizes(setup) },
    { name: "Debian package", sizes: await debianSizes(executable, folder) },
  ];
  const image = await imageBytes(setup, executable);
  if (image !== undefined) forms.push({ name: "image", sizes: { [installed]: image } });
  const load = (name: string): Load<Form> => ({
    name,
    rounds: 1,
    skips: ({ sizes }) => sizes[name] === undefined,
    run: async ({ sizes }) => ({ figures: { [megabytes]: (sizes[name] ?? Number.NaN) / 1e6 } }),
  });
  const thresholds: Readonly<Record<string, Threshold>> = { "npm package": { atMost: 120 } };
  return {
    name: "Sizes",
    subjects: forms,
    loads: [load(downloaded), load(installed)],
    metrics: [megabytes],
    claims: forms.map(({ name }) => ({
      ...{ subject: name, metric: megabytes },
      loads: [name === "Debian package" ? downloaded : installed],
      ...(thresholds[name] === undefined ? {} : { thresholds: { [installed]: thresholds[name] } }),
    })),
  };
}

/** Of the tarball, and of node_modules after its installation in an empty folder. */
async function npmSizes({ stack }: Setup): Promise<Form["sizes"]> {
  const { tarball, folder } = await installTarball(stack);
  return { [downloaded]: statSync(tarball).size, [installed]: await bytesIn(join(folder, "node_modules")) };
}

async function installTarball(
  stack: AsyncDisposableStack,
): Promise<{ readonly tarball: string; readonly folder: string }> {
  const folder = stack.use(new TemporaryFolder());
  const tarball = await packServer(folder);
  const empty = folder.file("empty");
  mkdirSync(empty);
  await succeed(empty, ["npm", "install", tarball]);
  return { tarball, folder: empty };
}

async function debianSizes(executable: string, folder: string): Promise<Form["sizes"]> {
  const target = hostTarget();
  if (target !== "linux-x64" && target !== "linux-arm64") return {};
  const { version } = packageJson;
  const file = await buildDeb({ target, executable, version, compression: "xz" }, folder);
  const { stdout } = await runProgram(["dpkg-deb", "--field", file, "Installed-Size"]);
  return { [downloaded]: statSync(file).size, [installed]: Number(stdout) * 1_024 };
}

/** Of all layers; undefined where the image cannot be built. */
async function imageBytes({ folder, skip, stack }: Setup, executable: string): Promise<number | undefined> {
  const base = "docker.io/library/debian:bookworm-slim";
  if (findProgram("buildah") === null) {
    skip("image", "not installed: apt-get install buildah");
    return undefined;
  }
  if (Bun.spawnSync(["buildah", "inspect", "--type=image", base]).exitCode !== 0) {
    skip("image", `there is no ${base} here: buildah pull ${base}`);
    return undefined;
  }
  const context = join(folder, "image");
  mkdirSync(context);
  copyFileSync(executable, join(context, executableName(hostTarget())));
  const name = `localhost/plantstore-bench:${process.pid}`;
  const containerfile = new URL("../../deploy/container/Containerfile", import.meta.url).pathname;
  await runProgram([
    ...["buildah", "build", "--isolation=chroot", "--pull-never", "--format=docker"],
    ...[`--build-arg=EXECUTABLE=${executableName(hostTarget())}`, `--file=${containerfile}`],
    ...[`--tag=${name}`, context],
  ]);
  stack.defer(async () => void (await runProgram(["buildah", "rmi", "--force", name])));
  const archive = join(folder, "image.tar");
  await runProgram(["buildah", "push", "--quiet", name, `docker-archive:${archive}`]);
  return statSync(archive).size;
}

async function bytesIn(folder: string): Promise<number> {
  const { stdout } = await runProgram(["du", "--summarize", "--bytes", folder]);
  return Number(stdout.split("\t")[0]);
}

async function starts(setup: Setup): Promise<Scenario<Starter>> {
  const { folder, stack } = setup;
  const executable = await build(hostTarget(), join(folder, "plantstore"));
  const { folder: project } = await installTarball(stack);
  const serve = "serve";
  const starter = (name: string, command: string) =>
    createStarter({ name, version: { command, suffix: "" }, file: join(folder, `${name}.db`) });
  const singleFile = await starter("single file", executable);
  return {
    name: "Starts",
    subjects: [singleFile, await starter("npm package", join(project, "node_modules/.bin/plantstore"))],
    loads: [{ name: serve, warmsUp: true, run: startServer }],
    metrics: [elapsed, processor],
    claims: [{ subject: singleFile.name, metric: elapsed, thresholds: { [serve]: { atMost: 100 } } }],
  };
}

interface StoreFiles extends Subject {
  /** The bytes of an empty store, and of the same one with the plants of a file. */
  readonly import: (file: string) => Promise<readonly [before: number, after: number]>;
}

/** Ids by the index of a plant, all of 13 digits. */
const idsByLoad: Readonly<Record<string, (index: number) => number>> = {
  "ascending ids": (index) => 10 ** 12 + index,
  "random ids": (index) => 10 ** 12 + mix(index),
};

/** A permutation of the 32-bit integers without a pattern (the finalizer of MurmurHash3), so that no two ids are equal. */
function mix(index: number): number {
  let bits = Math.imul(index ^ (index >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

async function stores(setup: Setup): Promise<Scenario<StoreFiles>> {
  const { folder, plants } = setup;
  const postgres = await BenchPostgres.start(setup);
  const { command } = thisCommit;
  const rows = new Map<string, number>();
  const fill = async (
    name: string,
    { database, measure, countRows }: NewStore,
    file: string,
  ): Promise<readonly [number, number]> => {
    await runProgram([command, "migrate", "--database", database]);
    const before = await measure();
    await runProgram([command, "import", file, "--quiet", "--database", database]);
    rows.set(name, (rows.get(name) ?? 0) + (await countRows()));
    return [before, await measure()];
  };
  const subject = (name: string, durability: string, newStore: () => Promise<NewStore>): StoreFiles => ({
    ...{ name, durability },
    store: new CountedStore(`${name} imports`, () => rows.get(name) ?? 0),
    import: async (file) => fill(name, await newStore(), file),
  });
  let made = 0;
  const sqlite = async (): Promise<NewStore> => {
    const file = join(folder, `store-${made++}.db`);
    return {
      database: `sqlite:${file}`,
      measure: async () => statSync(file).size,
      countRows: async () => countSqliteRows(file),
    };
  };
  const postgresStore = async (): Promise<NewStore> => {
    const name = `store_${made++}`;
    return {
      database: await postgres.createDatabase(name),
      measure: async () => {
        const [row] = await postgres.server.query(name, "SELECT pg_total_relation_size('plants') AS bytes");
        return Number(row?.bytes);
      },
      countRows: () => postgres.countRows(name),
    };
  };
  return {
    name: "Disk",
    subjects: [
      subject("SQLite", "journal_mode wal", sqlite),
      subject("PostgreSQL", postgres.durability, postgresStore),
    ],
    loads: Object.entries(idsByLoad).map(([name, idOf]) => ({
      name,
      rounds: 1,
      run: async ({ import: importFile }) => {
        const source = join(folder, name);
        mkdirSync(source, { recursive: true });
        const file = await writePlantFile(source, "csv", plants, (index) => {
          const id = idOf(index);
          return { id, name: `Monstera deliciosa ${id}`, tag: "tropical" };
        });
        const [before, after] = await importFile(file);
        return { figures: { "bytes/plant": (after - before) / plants }, acknowledged: plants };
      },
    })),
    metrics: ["bytes/plant"],
    claims: ["SQLite", "PostgreSQL"].map((subject) => ({
      ...{ subject, metric: "bytes/plant" },
      // The larger of the two.
      loads: ["random ids"],
    })),
  };
}

interface NewStore {
  readonly database: string;
  readonly measure: () => Promise<number>;
  readonly countRows: () => Promise<number>;
}
