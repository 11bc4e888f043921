// The documents against the code: what they list is what there is, in both directions.

import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { Glob } from "bun";
import { pages, renderPage } from "../../../scripts/reference.ts";
import { drawRooms } from "../../../scripts/rooms.ts";
import { rowsOf } from "../../support/markdown.ts";

const root = new URL("../../..", import.meta.url).pathname;
const read = (path: string) => Bun.file(`${root}/${path}`).text();

test("what the program knows is in the documents as `npm run update:reference` writes it", async () => {
  expect(pages.size).toBeGreaterThan(3);
  for (const page of pages) expect(await read(page)).toBe(await renderPage(page));
});

test("docs/guides/run-an-inventory.md names metrics that exist", async () => {
  const guide = await read("docs/guides/run-an-inventory.md");
  const known: readonly string[] =
    (await read("docs/monitoring.md")).match(/(?<=^\| `)plantstore_\w+/gm) ?? [];
  const named = guide.match(/\bplantstore_[a-z_]+\b/g) ?? [];
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
});

/**
 * The links of all documents to files of the project: the document, the file and the heading, ""
 * where there is none.
 */
async function documentLinks() {
  const documents = ["*.md", "docs/**/*.md"].flatMap((pattern) => [
    ...new Glob(pattern).scanSync({ cwd: root }),
  ]);
  const links = await Promise.all(
    documents.map(async (document) =>
      [...(await read(document)).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].map(
        ([, target = "", heading = ""]) => ({
          document,
          file: target === "" ? document : join(dirname(document), target),
          heading,
        }),
      ),
    ),
  );
  return links.flat();
}

test("links between the documents lead to files and headings that are there", async () => {
  const links = await documentLinks();
  expect(links.filter(({ heading }) => heading !== "").length).toBeGreaterThan(20);
  const dead: typeof links = [];
  for (const link of links) {
    const isThere = existsSync(join(root, link.file));
    const titles = isThere && link.heading !== "" ? (await read(link.file)).matchAll(/^#+ (.+)$/gm) : [];
    const hasHeading = [...titles].some(([, title = ""]) => anchor(title) === link.heading);
    if (!isThere || (link.heading !== "" && !hasHeading)) dead.push(link);
  }
  expect(dead).toEqual([]);
});

test("each package that is published has a README with its name", async () => {
  for (const name of ["client", "conformance"])
    expect(await read(`packages/${name}/README.md`)).toContain(`@plantstore/${name}`);
});

/** The name by which a link finds a heading, as GitHub makes it. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

test("ARCHITECTURE.md justifies every runtime dependency, and no other", async () => {
  const text = await read("ARCHITECTURE.md");
  const justified = rowsOf(text, /^\| `/).flatMap(([names]) => names?.replaceAll("`", "").split(", ") ?? []);
  const { dependencies } = JSON.parse(await read("package.json"));
  expect(justified.toSorted()).toEqual(Object.keys(dependencies).toSorted());
});

test("docs/images/rooms.svg is what `npm run update:rooms` makes of the imports of src/", async () => {
  expect(await read("docs/images/rooms.svg")).toBe(await drawRooms());
});
