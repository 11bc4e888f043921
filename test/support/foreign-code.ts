// Plants the files by which Bun and Node can run code of a folder that a command only runs in.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { TemporaryFolder } from "./server.ts";

const compilerOptions = JSON.stringify({ compilerOptions: { paths: { "*": ["./foreign.js"] } } });

/** The files by their names. `foreign.js` is the code. */
const plantedFiles: Readonly<Record<string, string>> = {
  "tsconfig.json": compilerOptions,
  "jsconfig.json": compilerOptions,
  "bunfig.toml": 'preload = ["./foreign.js"]\n',
  ".env": "PLANTSTORE_PORT=1\nBUN_OPTIONS=--preload=./foreign.js\nNODE_OPTIONS=--require=./foreign.js\n",
  "package.json": JSON.stringify({
    name: "commander",
    main: "./foreign.js",
    exports: "./foreign.js",
    imports: { "#*": "./foreign.js" },
    browser: { commander: "./foreign.js", "node:fs": "./foreign.js" },
  }),
  "node_modules/commander/index.js": 'require("../../foreign.js");\n',
};

/**
 * Runs a command in a folder with one of the files, and in a folder below it, for each of them.
 * Returns those whose code has run.
 */
export async function foreignCodeRun(command: (folder: string) => Promise<unknown>): Promise<string[]> {
  const ran: string[] = [];
  for (const [name, text] of Object.entries(plantedFiles)) {
    using folder = new TemporaryFolder();
    for (const file of [name, "below/none"]) mkdirSync(dirname(folder.file(file)), { recursive: true });
    const mark = folder.file("ran");
    writeFileSync(folder.file(name), text);
    writeFileSync(
      folder.file("foreign.js"),
      `require("node:fs").writeFileSync(${JSON.stringify(mark)}, "");\n`,
    );
    await command(folder.path);
    await command(folder.file("below"));
    if (existsSync(mark)) ran.push(name);
  }
  return ran;
}
