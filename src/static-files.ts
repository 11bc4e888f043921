// Serves the static files of a page from memory: content types, ETags, gzip.
// Each has at most some ten KB and fits into a connection's send buffer, so a client that does not
// read holds no memory of this process.

import { promisify } from "node:util";

interface StaticFilesOptions {
  /** Reads each file, by the URL path that it is served at. One without an extension is HTML. */
  readonly files: ReadonlyMap<string, () => Promise<Uint8Array<ArrayBuffer>>>;
  /** Sent with every file. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A file as it is sent, with or without gzip. */
interface Representation {
  /** Bun sends a Blob without a copy for each response, unlike a Uint8Array. */
  readonly blob: Blob;
  readonly etag: string;
}

const contentTypes: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** RFC 9110, section 12.5.3. */
const acceptsGzip = /(?:^|[\s,])(?:gzip|\*)(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

/** Reads each file when it is first requested, and holds it in memory once for all responses. */
export class StaticFiles {
  readonly #options: StaticFilesOptions;
  readonly #representations = new Map<string, Promise<Representation>>();

  constructor(options: StaticFilesOptions) {
    this.#options = options;
  }

  has(path: string): boolean {
    return this.#options.files.has(path);
  }

  /** The response to GET or HEAD of a path that `has` accepts. */
  async respond(path: string, request: Request): Promise<Response> {
    const sendsGzip = acceptsGzip.test(request.headers.get("accept-encoding") ?? "");
    const { blob, etag } = await this.#representation(path, sendsGzip);
    const headers: Record<string, string> = {
      ...this.#options.headers,
      "Content-Type": contentTypes[path.split(".").at(-1) ?? ""] ?? "text/html; charset=utf-8",
      "Cache-Control": "no-cache",
      ETag: etag,
      Vary: "Accept-Encoding",
    };
    if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
    if (sendsGzip) headers["Content-Encoding"] = "gzip";
    if (request.method !== "HEAD") return new Response(blob, { headers });
    headers["Content-Length"] = String(blob.size);
    return new Response(null, { headers });
  }

  #representation(path: string, isGzip: boolean): Promise<Representation> {
    const key = `${path} ${isGzip}`;
    let representation = this.#representations.get(key);
    if (representation === undefined) {
      representation = this.#read(path, isGzip);
      this.#representations.set(key, representation);
      // A read fails while file descriptors are used up; the next request tries again.
      representation.catch(() => this.#representations.delete(key));
    }
    return representation;
  }

  async #read(path: string, isGzip: boolean): Promise<Representation> {
    const stored = (await this.#options.files.get(path)?.()) ?? new Uint8Array();
    const bytes = isGzip ? await gzip(stored) : stored;
    return { blob: new Blob([bytes]), etag: `"${Bun.SHA256.hash(bytes, "base64url")}"` };
  }
}

/** Compresses in another thread. Loading zlib takes 4 ms of processor time. */
async function gzip(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const zlib = await import("node:zlib");
  return new Uint8Array(await promisify<Uint8Array, Buffer>(zlib.gzip)(bytes));
}
