// Holds Scalar's API reference, which the page loads: one file of the package, compressed.
// npm run update:vendored makes it from the registry's tarball.

import { promisify } from "node:util";
import { brotliDecompress, gzip } from "node:zlib";
import { once } from "../base/once.ts";
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

const compressed = once(() => Bun.file(file).bytes());
const plain = once(async () => await promisify(brotliDecompress)(await compressed()));

/**
 * The script in each coding: in Brotli as it is stored, 1.1 MB of 4.9. The others are made in another
 * thread when a client first asks for them.
 */
export const scalarScripts = {
  br: compressed,
  gzip: once(async () => await promisify(gzip)(await plain())),
  identity: plain,
};
