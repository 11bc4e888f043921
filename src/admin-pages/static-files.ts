// Serves the static files of a page from memory: content types, ETags, gzip.

import { accepts } from "hono/accepts";
import { etag } from "hono/etag";
import { Hono } from "hono/tiny";
import { getMimeType } from "hono/utils/mime";
import { once } from "../base/once.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Responds to GET and HEAD of files. Each is read when it is first requested, and held in memory
 * once for all responses.
 *
 * @param files reads each file, by its URL path. One without an extension is HTML.
 * @param headers sent with every file.
 */
export function staticFiles(
  files: ReadonlyMap<string, () => Promise<string>>,
  headers: Readonly<Record<string, string>>,
): Hono {
  const retainedHeaders = [...Object.keys(headers), "Content-Type", "Cache-Control", "ETag", "Vary"];
  const app = new Hono().use(etag({ retainedHeaders }));
  for (const [path, read] of files) {
    const plain = once(async () => toRepresentation(new TextEncoder().encode(await read())));
    const compressed = once(async () => toRepresentation(Bun.gzipSync(await read())));
    app.get(path, async (c) => {
      const isGzip =
        accepts(c, { header: "Accept-Encoding", supports: ["gzip"], default: "identity" }) === "gzip";
      const { blob, tag } = await (isGzip ? compressed() : plain());
      return new Response(blob, {
        headers: {
          ...headers,
          "Content-Type": getMimeType(path) ?? "text/html; charset=utf-8",
          "Content-Length": String(blob.size),
          "Cache-Control": "no-cache",
          ETag: tag,
          Vary: "Accept-Encoding",
          ...(isGzip && { "Content-Encoding": "gzip" }),
        },
      });
    });
  }
  return app;
}

/** Bun sends a Blob without a copy for each response, unlike a Uint8Array. */
function toRepresentation(bytes: Bytes) {
  return { blob: new Blob([bytes]), tag: `"${Bun.SHA256.hash(bytes, "base64url")}"` };
}
