// The files of the console's page.

import { expect, test } from "bun:test";
import { pageFiles } from "../../../src/console/page-files.ts";

test("all of them, with the libraries, have less than 70 KB compressed", async () => {
  const request = new Request("http://localhost/", { headers: { "Accept-Encoding": "gzip" } });
  const paths = ["", "app.js", "icon.svg", "style.css", "uplot.css"];
  const files = await Promise.all(paths.map((path) => pageFiles.respond(path, request)));
  expect(files.reduce((sum, { body }) => sum + (body?.size ?? 0), 0)).toBeLessThan(70_000);
});
