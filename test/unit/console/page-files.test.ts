// The files of the console's page, which an executable contains only if they are listed.

import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { pageFiles } from "../../../src/console/page-files.js";

test("every file of the page is listed under its name, and every listed file is there", () => {
  const folder = new URL("../../../src/console/page/", import.meta.url).pathname;
  const listed = pageFiles.entries().filter(([, path]) => path.startsWith(folder));
  const names = listed.map(([name, path]) => [name || "index.html", path.slice(folder.length)]);
  const files = new Bun.Glob("**/*.{html,css,js,svg}").scanSync(folder);
  expect([...names].toSorted()).toEqual([...files].map((name) => [name, name]).toSorted());
  expect([...pageFiles.values()].filter((path) => !existsSync(path))).toEqual([]);
});

test("all of them have less than 100 KB compressed, with the libraries and what only a sandbox has", async () => {
  const sizes = await Promise.all(
    [...pageFiles.values()].map(async (path) => Bun.gzipSync(await Bun.file(path).bytes()).length),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(100_000);
});
