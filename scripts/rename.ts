// npm run rename -- book books: gives the resource another name, in the contents and the names of all
// files, and with it the product (Book Store), its command (bookstore), variables (BOOKSTORE_), tokens
// (bst_) and files of SQLite.

import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dir, "..");

/** The names that this repository has now: the command writes the new ones here as everywhere. */
const current = { one: "plant", many: "plants" };

interface Names {
  readonly one: string;
  readonly many: string;
}

/** Files that stay as they are: licences name their authors, and pictures show what they show. */
const untouched = /(?:^|\/)(?:LICENSE|vendored\.LICENSES)$|^docs\/images\//;

if (import.meta.main) await rename(parseArguments(process.argv.slice(2)));

async function rename(names: Names): Promise<void> {
  const replace = renamerOf(current, names);
  for (const path of listFiles()) renameFile(path, replace);
  // The links of the workspaces, the order of imports, and the length of lines.
  await Bun.$`npm install --prefer-offline --no-audit --no-fund --ignore-scripts`.cwd(root).quiet();
  await Bun.$`node_modules/.bin/biome check --write --linter-enabled=false .`.cwd(root).quiet();
  const { product, command } = brandOf(names.one);
  // A page that is made of the sources.
  await Bun.$`${process.execPath} bench/main.ts report`.cwd(root).quiet();
  process.stdout.write(
    `Renamed: ${product}, ${command} serve, POST /${names.many}. Next: npm run check && npm test\n`,
  );
}

function parseArguments([one = "", many = "", ...others]: readonly string[]): Names {
  const isName = (word: string) => /^[a-z]{3,20}$/.test(word);
  if (!isName(one) || !isName(many) || one === many || others.length > 0) {
    process.stderr.write("npm run rename -- book books: two different words of 3 to 20 lower-case letters\n");
    process.exit(2);
  }
  return { one, many };
}

/** The names that follow from the resource's. */
function brandOf(one: string) {
  return {
    product: `${capitalize(one)} Store`,
    command: `${one}store`,
    tokenPrefix: `${one[0]}st_`,
    // In the header of an SQLite file, so that another service does not open it by mistake.
    applicationId: (one[0] + one.slice(1).replaceAll(/[aeiou]/g, "")).padEnd(4, "_").slice(0, 4),
  };
}

/** Replaces the names in a text: words, and the parts of identifiers such as createPlant. */
export function renamerOf(from: Names, to: Names): (text: string) => string {
  const [before, after] = [brandOf(from.one), brandOf(to.one)];
  const hex = (text: string) => `0x${Buffer.from(text).toString("hex")}`;
  const replacements: readonly (readonly [pattern: RegExp, replacement: string])[] = [
    ...articles(from, to),
    [new RegExp(`"${before.applicationId}"`, "g"), `"${after.applicationId}"`],
    [new RegExp(hex(before.applicationId), "g"), hex(after.applicationId)],
    ...forms(before.command, after.command),
    ...forms(from.many, to.many),
    ...forms(from.one, to.one),
    [new RegExp(`(?<!\\w)${before.tokenPrefix}`, "g"), after.tokenPrefix],
  ];
  return (text) =>
    replacements.reduce((result, [pattern, replacement]) => result.replaceAll(pattern, replacement), text);
}

/** A word within an identifier or a text, but not within another one, as "cat" is in "category". */
function forms(from: string, to: string): [RegExp, string][] {
  // After an escape such as \n a word begins, too.
  const start = String.raw`(?:(?<![A-Za-z])|(?<=\\[bdfnrstvw])|(?<=\\u[\dA-Fa-f]{4}))`;
  const upperStart = String.raw`(?:(?<![A-Z])|(?<=\\u[\dA-Fa-f]{4}))`;
  return [
    [new RegExp(`${start}${from}(?![a-z])`, "g"), to],
    [new RegExp(`(?<![A-Z])${capitalize(from)}(?![a-z])`, "g"), capitalize(to)],
    [new RegExp(`${upperStart}${from.toUpperCase()}(?![A-Z])`, "g"), to.toUpperCase()],
  ];
}

/** The article before a name, which is another one before a vowel. */
function articles(from: Names, to: Names): [RegExp, string][] {
  const article = ({ one }: Names) => (/^[aeiou]/.test(one) ? "an" : "a");
  const [before, after] = [article(from), article(to)];
  if (before === after) return [];
  const words = [brandOf(from.one).command, from.many, from.one].flatMap((word) => [word, capitalize(word)]);
  return [before, capitalize(before)].map((word) => [
    new RegExp(`\\b${word}(?= [\`"*]?(?:${words.join("|")})(?![a-z]))`, "g"),
    word === before ? after : capitalize(after),
  ]);
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** All files but those that Git ignores, also those that are not committed yet. */
function listFiles(): string[] {
  const options = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { stdout } = Bun.spawnSync(["git", ...options], { cwd: root });
  return [...new Set(stdout.toString().split("\0"))].filter(
    (path) =>
      path !== "" &&
      !untouched.test(path) &&
      lstatSync(join(root, path), { throwIfNoEntry: false })?.isFile(),
  );
}

function renameFile(path: string, replace: (text: string) => string): void {
  const content = readFileSync(join(root, path));
  // A file with a zero byte is not text.
  if (!content.includes(0)) {
    const text = content.toString();
    const renamed = replace(text);
    if (renamed !== text) writeFileSync(join(root, path), renamed);
  }
  const renamedPath = replace(path);
  if (renamedPath === path) return;
  mkdirSync(join(root, dirname(renamedPath)), { recursive: true });
  renameSync(join(root, path), join(root, renamedPath));
  for (let folder = dirname(path); readdirSync(join(root, folder)).length === 0; folder = dirname(folder))
    rmdirSync(join(root, folder));
}
