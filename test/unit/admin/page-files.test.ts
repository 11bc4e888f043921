// The files of the console's page, which an executable contains only if they are listed.

import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { pageFiles } from "../../../src/admin/console/page-files.js";

test("every file of the page is listed under its name, and every listed file is there", () => {
  const folder = new URL("../../../src/admin/console/page/", import.meta.url).pathname;
  const listed = pageFiles.entries().filter(([, path]) => path.startsWith(folder));
  const names = listed.map(([name, path]) => [name || "index.html", path.slice(folder.length)]);
  const files = new Bun.Glob("**/*.{html,css,js,svg}").scanSync(folder);
  expect([...names].toSorted()).toEqual([...files].map((name) => [name, name]).toSorted());
  expect([...pageFiles.values()].filter((path) => !existsSync(path))).toEqual([]);
});
