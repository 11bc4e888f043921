// The files of the console's page.

import { expect, test } from "bun:test";
import { pageFiles } from "../../../src/console/page-files.ts";

test("all of them, with the libraries, have less than 70 KB compressed", async () => {
  const paths = ["", "app.js", "icon.svg", "style.css"];
  const contents = paths.map(async (path) =>
    (
      await pageFiles("Plant Store").request(`/console/${path}`, { headers: { "Accept-Encoding": "gzip" } })
    ).bytes(),
  );
  const bytes = (await Promise.all(contents)).reduce((sum, { length }) => sum + length, 0);
  expect(bytes).toBeLessThan(70_000);
});
