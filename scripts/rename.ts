// npm run rename: gives the service, its command, its tokens and its resource other names, in the contents and the names of all
// files: the start of a service of one's own.

import { Database } from "bun:sqlite";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Command, InvalidArgumentError } from "commander";

const root = join(import.meta.dir, "..");

/** Files that stay as they are: licences name their authors, pictures show what they show, the names of the corpus are hashes. */
const untouched = /(?:^|\/)(?:LICENSE|vendored\.LICENSES)$|^docs\/images\/|^test\/long\/fuzz\/corpus\//;

/** Stores of earlier schema versions, which a test upgrades. */
const storesFolder = "test/system/restart/stores";

/** The guide to this command, whose steps start from the former names. */
const guide = {
  page: "docs/guides/start-your-own-service.md",
  files: ["docs/guides/journal-engine", "test/system/guides/start-your-own-service.test.ts"],
  /** The document with an entry for it, in one line. */
  entry: "README.md",
};

const { product, command, resource, resources, tokenPrefix } = parseArguments();
const replacements = toReplacements();
const before = storedTokens();
removeGuide();
for (const path of listFiles()) renameFile(path);
renameStores();
// The order of imports and the length of lines, and what is made of the sources: a table of settings, a page with a plot.
await Bun.$`node_modules/.bin/biome check --write --linter-enabled=false .`.cwd(root).quiet();
const settings = await Bun.$`bin/${command} config`.cwd(root).env({ PATH: process.env.PATH }).text();
writeFileSync(join(root, "test/integration/cli/config/golden/config.txt"), settings);
await Bun.$`${process.execPath} bench/main.ts report`.cwd(root).quiet();
process.stdout.write(
  `Renamed to ${product}: ${command} serve, POST /${resources}, tokens ${tokenPrefix}… Next: npm install && npm test\n`,
);

function parseArguments() {
  const parse = (pattern: RegExp, expected: string) => (text: string) => {
    if (!pattern.test(text)) throw new InvalidArgumentError(`It must be ${expected}.`);
    return text;
  };
  const word = parse(/^[a-z]{3,}$/, "at least three lower-case letters");
  const options = new Command("npm run rename --")
    .requiredOption(
      "--product <name>",
      'such as "Tree Register"',
      parse(/^[A-Z][a-z]+ [A-Z][a-z]+$/, "two words such as Tree Register"),
    )
    .requiredOption("--resource <word>", "what it stores, in the singular: tree", word)
    .option("--resources <word>", "its plural; by default with an s", word)
    .option("--command <word>", "by default the product in lower case, without the space", word)
    .option("--token-prefix <prefix>", "such as trt_", parse(/^[a-z]{2,4}_$/, "two to four letters and _"))
    .parse()
    .opts<{ product: string; resource: string } & Record<string, string | undefined>>();
  const initials = options.product.replaceAll(/[^A-Z]/g, "").toLowerCase();
  return {
    product: options.product,
    resource: options.resource,
    resources: options.resources ?? `${options.resource}s`,
    command: options.command ?? options.product.replace(" ", "").toLowerCase(),
    tokenPrefix: options.tokenPrefix ?? `${initials}t_`,
  };
}

/** In the order in which they are applied: a longer name first. */
function toReplacements(): [pattern: RegExp, replacement: string][] {
  const [first = "", second = ""] = product.split(" ");
  const [lowFirst, lowSecond] = [first.toLowerCase(), second.toLowerCase()];
  return [
    [/Plant Store/g, product],
    [/PlantStore/g, first + second],
    [/plantStore/g, lowFirst + second],
    [/plant-store/g, `${lowFirst}-${lowSecond}`],
    [/plant store/g, `${lowFirst} ${lowSecond}`],
    [/PLANT_STORE/g, `${first}_${second}`.toUpperCase()],
    ...forms("plantstore", command),
    ...forms("plants", resources),
    ...forms("plant", resource),
    [/(?<!\w)pst_/g, tokenPrefix],
    // The application id in the header of an SQLite file: another service's store is not opened by mistake.
    [/"plnt"/g, `"${applicationName()}"`],
    [/0x706c6e74/g, `0x${Buffer.from(applicationName()).toString("hex")}`],
  ];
}

/** A word in lower case, capitalized and in upper case; not within the word "planted". */
function forms(from: string, to: string): [RegExp, string][] {
  const capitalize = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
  return [
    [new RegExp(`${from}(?!ed\\b)`, "g"), to],
    [new RegExp(`${capitalize(from)}(?!ed\\b)`, "g"), capitalize(to)],
    [new RegExp(from.toUpperCase(), "g"), to.toUpperCase()],
  ];
}

/** Four characters of the command. */
function applicationName(): string {
  return command
    .replaceAll(/(?<!^)[aeiou]/g, "")
    .padEnd(4, "_")
    .slice(0, 4);
}

function replaceAll(text: string): string {
  return replacements.reduce(
    (result, [pattern, replacement]) => result.replaceAll(pattern, replacement),
    text,
  );
}

/** All files but those that Git ignores, also those that are not committed yet. */
function listFiles(): string[] {
  const { stdout } = Bun.spawnSync(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
  });
  const paths = new Set(stdout.toString().split("\0"));
  return [...paths].filter(
    (path) =>
      path !== "" &&
      !untouched.test(path) &&
      lstatSync(join(root, path), { throwIfNoEntry: false })?.isFile(),
  );
}

function removeGuide(): void {
  for (const path of [guide.page, ...guide.files]) rmSync(join(root, path), { recursive: true, force: true });
  const entry = join(root, guide.entry);
  const lines = readFileSync(entry, "utf8").split("\n");
  writeFileSync(entry, lines.filter((line) => !line.includes(guide.page)).join("\n"));
}

function renameFile(path: string): void {
  const content = readFileSync(join(root, path));
  // A file with a zero byte is not text.
  if (!content.includes(0)) {
    const text = content.toString();
    const renamed = replaceAll(text);
    if (renamed !== text) writeFileSync(join(root, path), renamed);
  }
  const renamedPath = replaceAll(path);
  if (renamedPath === path) return;
  mkdirSync(join(root, dirname(renamedPath)), { recursive: true });
  renameSync(join(root, path), join(root, renamedPath));
  for (let folder = dirname(path); readdirSync(join(root, folder)).length === 0; folder = dirname(folder))
    rmdirSync(join(root, folder));
}

/** The tokens of the stored stores: a store has the hash of each, which changes with the prefix. */
function storedTokens(): string[] {
  return readFileSync(join(root, storesFolder, "tokens.json"), "utf8").match(/(?<!\w)pst_[\w-]+/g) ?? [];
}

function renameStores(): void {
  const hashes = before.map((token) => [hash(token), hash(replaceAll(token))] as const);
  for (const name of readdirSync(join(root, storesFolder))) {
    const path = join(root, storesFolder, name);
    if (name.endsWith(".sql"))
      writeFileSync(
        path,
        hashes.reduce((sql, [from, to]) => sql.replaceAll(from, to), readFileSync(path, "utf8")),
      );
    if (!name.endsWith(".db")) continue;
    using database = new Database(path);
    if (resources !== "plants") database.run(`ALTER TABLE plants RENAME TO ${resources}`);
    for (const [from, to] of hashes) database.run("UPDATE tokens SET hash = ? WHERE hash = ?", [to, from]);
    database.run(`PRAGMA application_id = ${Buffer.from(applicationName()).readInt32BE()}`);
    // As one file, without its write-ahead log.
    database.run("PRAGMA journal_mode = DELETE");
    database.run("VACUUM");
  }
}

function hash(token: string): string {
  return Bun.SHA256.hash(token, "base64url");
}
