// npm run rename: to names that share letters with ordinary words, and back to the first names.

import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { renamerOf } from "../../../scripts/rename.ts";
import { succeed } from "../../support/npm-packages.ts";
import { describeIfInstalled } from "../../support/programs.ts";
import { copyPackages, copyRepository } from "../../support/repository-copy.ts";
import { TemporaryFolder } from "../../support/server.ts";

const first = { one: "plant", many: "plants" };

test("words are replaced in all their cases, and not within other words", () => {
  const toArt = renamerOf(first, { one: "art", many: "arts" });
  const text = String.raw`A plant, planted: createPlant(NewPlants) PLANTS_MAX "\nplantstore" PlantStore pst_x a Plant Store`;
  const renamed = String.raw`An art, planted: createArt(NewArts) ARTS_MAX "\nartstore" ArtStore ast_x an Art Store`;
  expect(toArt(text)).toBe(renamed);
  expect(renamerOf({ one: "art", many: "arts" }, first)(renamed)).toBe(text);
  const start = "start parts Article smart_cart PARTS last_x a startup";
  expect(renamerOf({ one: "art", many: "arts" }, first)(start)).toBe(start);
});

const renameMsMax = 300_000;

describeIfInstalled("git", "a copy of the repository", () => {
  test(
    "is green as arts, and as pots, and is what it was as plants again",
    async () => {
      using folder = new TemporaryFolder();
      const copy = folder.file("copy");
      await copyRepository(copy);
      await copyPackages(copy);
      // It has the other names already.
      rmSync(join(copy, "test/system/guides/rename.test.ts"));
      const treeOf = async () => {
        await succeed(copy, ["git", "add", "--all"]);
        return (await succeed(copy, ["git", "write-tree"])).trim();
      };
      const before = await treeOf();
      const rename = (one: string, many: string) => succeed(copy, ["npm", "run", "rename", "--", one, many]);
      for (const one of ["art", "pot"]) {
        await rename(one, `${one}s`);
        await succeed(copy, ["npm", "run", "check"]);
        await succeed(copy, [
          "npm",
          "test",
          "--",
          "./test/unit/project/",
          "./test/integration/cli/config.test.ts",
        ]);
      }
      await rename("plant", "plants");
      const after = await treeOf();
      expect(await succeed(copy, ["git", "diff", before, after])).toBe("");
    },
    renameMsMax,
  );
});
