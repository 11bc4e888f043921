// Scalar's browser bundle in the source tree, and its origin.

import origin from "../../src/api/docs/scalar.json";

export { origin };

/** Where the server has it, compressed. */
export const bundleFile = new URL("../../src/api/docs/scalar.js.gz", import.meta.url).pathname;

/** Where its origin is written down. */
export const originFile = new URL("../../src/api/docs/scalar.json", import.meta.url).pathname;

/** The bundle as its makers published it, as far as its hash tells. */
export async function publishedBundle(): Promise<string> {
  const bytes = Bun.gunzipSync(await Bun.file(bundleFile).bytes());
  const hash = sha256(bytes);
  if (hash !== origin.sha256)
    throw new Error(`The bundle of ${origin.package} ${origin.version} has the hash ${hash}`);
  return new TextDecoder().decode(bytes);
}

export function sha256(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}
