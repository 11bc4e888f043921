// Preloaded into a server: upon SIGUSR2 it writes how many objects of each type the main thread has to a file, as JSON.
// The server runs without garbage collection, so that these are all objects since its start.

import { heapStats } from "bun:jsc";
import { renameSync, writeFileSync } from "node:fs";

const { ALLOCATION_COUNTS: file } = process.env;

// A worker runs this as well, but no signal reaches it.
if (file !== undefined && Bun.isMainThread) {
  process.on("SIGUSR2", () => {
    writeFileSync(`${file}.new`, JSON.stringify(heapStats().objectTypeCounts));
    renameSync(`${file}.new`, file);
  });
}
