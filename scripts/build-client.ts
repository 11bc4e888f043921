// npm run build:client: builds packages/client/dist, the typed client. `npm pack` and `npm publish` run it first.

import { join } from "node:path";
import { buildLibrary } from "./library.ts";

const root = join(import.meta.dir, "..");
await buildLibrary({
  source: join(root, "packages/client/src"),
  dist: join(root, "packages/client/dist"),
  types: ["index.d.ts", "client.d.ts", "errors.d.ts", "options.d.ts", "plant.d.ts"],
  target: "browser",
  // The package is under 30 KB, with the types' comments.
  minify: true,
});
