// The types that openapi-typescript generates from an OpenAPI document.

import { pathToFileURL } from "node:url";
import type { TemporaryFolder } from "./server.ts";

/** The source of the types. The files of the generator are written to the folder. */
export async function generateTypes(
  document: string,
  folder: TemporaryFolder,
  options: { readonly arrayLength?: boolean; readonly defaultNonNullable?: boolean } = {},
): Promise<string> {
  const { default: generate, astToString } = await import(await bundleGenerator(folder));
  return astToString(await generate(pathToFileURL(document), options));
}

/** The generator as one file. It needs the compiler API of TypeScript 5, which this project's TypeScript 7 lacks. */
async function bundleGenerator(folder: TemporaryFolder): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [Bun.resolveSync("openapi-typescript", import.meta.dir)],
    outdir: folder.file("generator"),
    target: "bun",
    plugins: [
      {
        name: "TypeScript 5",
        setup(build) {
          const path = Bun.resolveSync("typescript-5", import.meta.dir);
          build.onResolve({ filter: /^typescript$/ }, () => ({ path }));
        },
      },
    ],
  });
  return outputs[0]?.path ?? "";
}
