// The package plantstore as other package managers than npm install it: the command and
// plantstore/sandbox start.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../../package.json";
import { packServer, succeed } from "../../support/npm-packages.ts";
import { describeUnless, toolsMissing } from "../../support/programs.ts";
import { TemporaryFolder } from "../../support/server.ts";

const npx = ["npx", "--yes"];
const yarn1 = [...npx, "yarn@1.22.22", "--silent"];
const yarn4 = [...npx, "--package=@yarnpkg/cli-dist@4.18.1", "--", "yarn"];
const pnpm = [...npx, "pnpm@10.34.6"];

/** The commands, and the settings of Yarn 4. */
const managers = [
  ["Yarn 1", yarn1, {}],
  ["Yarn 4 with Plug'n'Play", yarn4, { YARN_NODE_LINKER: "pnp" }],
  [
    "Yarn 4 with Plug'n'Play, without install scripts",
    yarn4,
    { YARN_NODE_LINKER: "pnp", YARN_ENABLE_SCRIPTS: "false" },
  ],
  ["Yarn 4 with node_modules", yarn4, { YARN_NODE_LINKER: "node-modules" }],
  ["Yarn 4 with links", yarn4, { YARN_NODE_LINKER: "pnpm" }],
  ["pnpm", pnpm, {}],
] as const;

const useSandbox = `
const { startSandbox } = require("plantstore/sandbox");
startSandbox({ seed: [{ id: 1, name: "Monstera" }] }).then(async (sandbox) => {
  const plants = await sandbox.resources();
  console.log(plants.length, "plant");
  await sandbox.close();
});
`;

describeUnless(toolsMissing, "package managers", () => {
  const folder = new TemporaryFolder();
  let tarball = "";
  beforeAll(async () => {
    tarball = await packServer(folder);
  });
  afterAll(() => folder[Symbol.dispose]());

  test.each(managers)("%s installs what starts here", async (name, manager, settings) => {
    const project = folder.file(name.replaceAll(/\W/g, ""));
    const dependencies = { plantstore: `file:${tarball}` };
    await Bun.write(join(project, "package.json"), JSON.stringify({ private: true, dependencies }));
    // Otherwise Yarn 4 takes a folder above for the project.
    writeFileSync(join(project, "yarn.lock"), "");
    writeFileSync(join(project, "sandbox.cjs"), useSandbox);
    const variables = {
      ...settings,
      YARN_CACHE_FOLDER: folder.file("yarn-cache"),
      YARN_GLOBAL_FOLDER: folder.file("yarn"),
      YARN_ENABLE_IMMUTABLE_INSTALLS: "false",
    };
    const run = (...args: string[]) => succeed(project, [...manager, ...args], variables);
    await run("install");
    expect(await run("plantstore", "--version")).toStartWith(`${packageJson.version} (Bun ${Bun.version}, `);
    // pnpm has its own node of that name.
    expect(await run(...(manager === pnpm ? ["exec"] : []), "node", "sandbox.cjs")).toEndWith("1 plant\n");
  });
});
