// Holds Scalar's API reference, which the page loads: one file of the package, compressed.
// npm run update:vendored makes it from the registry's tarball.

import { brotliDecompressSync } from "node:zlib";
import file from "./page/scalar.js.br" with { type: "file" };

/** The package on the npm registry, and the digests of its tarball and of the file in it. */
export const scalarPackage = {
  name: "@scalar/api-reference",
  version: "1.76.0",
  integrity:
    "sha512-pjqwnzmA9YK3ZX+IZSICMsywm4qI6HLSngR2py9H6TvFApHHuJjkTAd+gFJfnqJDzJuro8k7ji6JCtJ2U+Byng==",
  path: "package/dist/browser/standalone.js",
  sha256: "dcb027152bf20bf2f6dcd66e8f9fb073c1a9e274cf0b94b939a7d99ab8947060",
} as const;

/** The script as it is stored, in Brotli: 1.1 MB of 4.9. */
export function compressedScalar(): Blob {
  return Bun.file(file);
}

/** The script for a client that takes no Brotli: made anew for each, as nearly none asks for it. */
export async function plainScalar(): Promise<Blob> {
  return new Blob([brotliDecompressSync(await compressedScalar().bytes())]);
}
