// Puts a version of Scalar's bundle where the server has it: npm run update:scalar -- 1.72.1

import { $ } from "bun";
import { bundleFile, origin, originFile, sha256 } from "./scalar-bundle.ts";
import { TemporaryFolder } from "./server.ts";

const version = Bun.argv[2] ?? origin.version;
using folder = new TemporaryFolder();
// npm holds what it fetches against the registry's hash.
await $`npm pack ${origin.package}@${version} --pack-destination ${folder.path}`.quiet();
await $`tar -xzf ${folder.path}/*.tgz -C ${folder.path}`;
const bundle = await Bun.file(`${folder.path}/package/${origin.file}`).bytes();
await Bun.write(bundleFile, Bun.gzipSync(bundle, { level: 9 }));
await Bun.write(
  originFile,
  `${JSON.stringify({ ...origin, version, sha256: sha256(bundle) }, undefined, 2)}\n`,
);
