// Puts Scalar's bundle where the server has it: npm run update:scalar, after the package's version has changed.

import { bundleFile, publishedBundle } from "./scalar-bundle.ts";

await Bun.write(bundleFile, Bun.gzipSync(publishedBundle(), { level: 9 }));
