// Records which files' functions run in a server: a copy of src, instrumented with istanbul's counters, and started as the
// server itself is, with its threads.

import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { createInstrumenter } from "istanbul-lib-instrument";
import { RunningServer, type TemporaryFolder } from "./server.ts";

/** The files whose functions ran, each in the order of its first call. */
export interface RecordedFiles {
  readonly mainThread: readonly string[];
  readonly commitThread: readonly string[];
}

const repository = new URL("../..", import.meta.url).pathname;
const variable = "__functionCounters__";
const reportName = "recorded.json";

/** The modules that threads start with. */
const entries = { mainThread: "src/cli/main.ts", commitThread: "src/core/store/sqlite/commit-worker.ts" };

/**
 * Loaded first in each thread: notes the first call in each file since the last report. SIGUSR2 writes a report. The
 * committing thread waits outside its event loop, so it is not asked: it tells the main thread whenever the file changes.
 * The copy must not depend on this module, so it is text.
 */
const recorder = (root: string) => `
import { renameSync, writeFileSync } from "node:fs";
const channel = new BroadcastChannel("recorder");
channel.unref?.();
const mainThread = new Set();
const commitThread = new Set();
let lastPath;
const tell = (path) => { if (path !== lastPath) channel.postMessage(path); lastPath = path; };
const note = Bun.isMainThread ? (path) => mainThread.add(path) : tell;
const noteCalls = (path, counters) =>
  new Proxy(counters, { set: (target, key, value) => { note(path); target[key] = value; return true; } });
globalThis.${variable} = new Proxy({}, {
  set(target, path, coverage) {
    target[path] = { ...coverage, f: noteCalls(path, coverage.f) };
    return true;
  },
});
if (Bun.isMainThread) {
  channel.onmessage = ({ data }) => commitThread.add(data);
  process.on("SIGUSR2", () => {
    const path = ${JSON.stringify(join(root, reportName))};
    writeFileSync(path + ".new", JSON.stringify({ mainThread: [...mainThread], commitThread: [...commitThread] }));
    renameSync(path + ".new", path);
    mainThread.clear();
    commitThread.clear();
  });
}
`;

/** A server whose code is instrumented, in a folder that outlives it. */
export class RecordedServer implements AsyncDisposable {
  readonly server: RunningServer;
  readonly #root: string;

  private constructor(server: RunningServer, root: string) {
    this.server = server;
    this.#root = root;
  }

  static async start(folder: TemporaryFolder, args: readonly string[] = []): Promise<RecordedServer> {
    const root = folder.file("instrumented");
    await copyInstrumented(root);
    const database = `sqlite:${folder.file("plants.db")}`;
    const program = join(root, "bin/plantstore");
    return new RecordedServer(await RunningServer.start({ database, args, program }), root);
  }

  /** The files whose functions ran since the last call. */
  async takeReport(): Promise<RecordedFiles> {
    const report = join(this.#root, reportName);
    rmSync(report, { force: true });
    process.kill(this.server.pid, "SIGUSR2");
    while (!existsSync(report)) await Bun.sleep(5);
    return JSON.parse(readFileSync(report, "utf8"));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server[Symbol.asyncDispose]();
  }
}

async function copyInstrumented(root: string): Promise<void> {
  mkdirSync(root);
  for (const path of ["src", "bin"]) cpSync(join(repository, path), join(root, path), { recursive: true });
  for (const path of ["node_modules", "package.json", "openapi.yaml"])
    symlinkSync(join(repository, path), join(root, path));
  const recorderPath = join(root, "recorder.mjs");
  writeFileSync(recorderPath, recorder(root));

  const instrumenter = createInstrumenter({ esModules: true, compact: false, coverageVariable: variable });
  const transpiler = new Bun.Transpiler({ loader: "ts", target: "bun" });
  for (const path of new Glob("src/**/*.ts").scanSync({ cwd: root })) {
    if (path.endsWith(".d.ts") || path.startsWith("packages/client/src/")) continue;
    const code = transpiler.transformSync(readFileSync(join(root, path), "utf8"));
    const instrumented = instrumenter.instrumentSync(code, path);
    const isEntry = Object.values(entries).includes(path);
    writeFileSync(
      join(root, path),
      isEntry ? `import ${JSON.stringify(recorderPath)};\n${instrumented}` : instrumented,
    );
  }
}
