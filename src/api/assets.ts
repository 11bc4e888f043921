// Serves the static files of a page from memory: content types, caching by ETag or for good, gzip, back pressure.

import { promisify } from "node:util";
import { ResponseStreams } from "./response-streams.ts";

interface AssetOptions {
  /**
   * Files by the URL path that each is served at. A file whose name ends in ".gz" is sent as it is to clients that accept
   * gzip, and decompressed to others.
   */
  readonly files: ReadonlyMap<string, string>;
  /** `immutable`: a path changes with its content, so that browsers need not ask again. `revalidate`: they ask every time. */
  readonly caching: "immutable" | "revalidate";
  /** Whether other files are compressed for clients that accept gzip. */
  readonly compress?: boolean;
  /** Sent with every file. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What is sent of a file. */
export interface AssetResponse {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Blob | ReadableStream<Uint8Array> | null;
}

/** A file as it is sent, with or without gzip. */
interface Representation {
  /** Bun sends a Blob without a copy for each response, unlike a Uint8Array. */
  readonly blob: Blob;
  readonly bytes: Uint8Array;
  readonly etag: string;
}

/** How the file that is stored becomes the one that is sent. */
type Recoding = "none" | "compress" | "decompress";

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  mjs: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

const cacheControl = {
  immutable: "public, max-age=31536000, immutable",
  revalidate: "no-cache",
};

const gzipSuffix = ".gz";

/** Larger files are streamed: a slow client could hold the connection of a Blob without end. */
const unstreamedBytesMax = 256 * 2 ** 10;

/** 256 streams of shared bytes. */
const streamLimits = { bytesMax: 16 * 2 ** 20, sendMsMax: 120_000 };

/** RFC 9110, section 12.5.3. */
const acceptsGzip = /(?:^|[\s,])(?:gzip|\*)(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

/** Reads each file when it is first requested, and holds it in memory once for all responses. */
export class Assets {
  readonly #options: AssetOptions;
  readonly #streams = new ResponseStreams(streamLimits);
  readonly #representations = new Map<string, Promise<Representation>>();

  constructor(options: AssetOptions) {
    this.#options = options;
  }

  has(path: string): boolean {
    return this.#options.files.has(path);
  }

  /** The response to GET or HEAD of a path that `has` accepts; undefined if too many large files are being sent. */
  async respond(path: string, request: Request): Promise<AssetResponse | undefined> {
    const file = this.#options.files.get(path) ?? "";
    const isGzip = file.endsWith(gzipSuffix);
    const hasGzip = isGzip || this.#options.compress === true;
    const sendsGzip = hasGzip && acceptsGzip.test(request.headers.get("accept-encoding") ?? "");
    const recoding = sendsGzip === isGzip ? "none" : sendsGzip ? "compress" : "decompress";
    const { blob, bytes, etag } = await this.#representation(file, recoding);
    const headers: Record<string, string> = {
      ...this.#options.headers,
      "Content-Type": contentType(file),
      "Cache-Control": cacheControl[this.#options.caching],
      ETag: etag,
    };
    if (hasGzip) headers.Vary = "Accept-Encoding";
    if (request.headers.get("if-none-match") === etag) return { status: 304, headers, body: null };
    if (sendsGzip) headers["Content-Encoding"] = "gzip";
    if (request.method === "HEAD") {
      // A stream without a reader would use up memory until its time is over.
      headers["Content-Length"] = String(bytes.byteLength);
      return { status: 200, headers, body: null };
    }
    const body = bytes.byteLength <= unstreamedBytesMax ? blob : this.#streams.streamShared(bytes);
    return body && { status: 200, headers, body };
  }

  #representation(file: string, recoding: Recoding): Promise<Representation> {
    const key = `${file} ${recoding}`;
    let representation = this.#representations.get(key);
    if (representation === undefined) {
      representation = read(file, recoding);
      this.#representations.set(key, representation);
      // A read fails while file descriptors are used up; the next request tries again.
      representation.catch(() => this.#representations.delete(key));
    }
    return representation;
  }
}

async function read(file: string, recoding: Recoding): Promise<Representation> {
  const stored = await Bun.file(file).bytes();
  const bytes = recoding === "none" ? stored : await recode(stored, recoding);
  return { blob: new Blob([bytes]), bytes, etag: `"${Bun.SHA256.hash(bytes, "base64url")}"` };
}

/** In a thread of its own. Loading zlib takes 4 ms of processor time. */
async function recode(
  bytes: Uint8Array,
  recoding: "compress" | "decompress",
): Promise<Uint8Array<ArrayBuffer>> {
  const zlib = await import("node:zlib");
  const recoded =
    recoding === "decompress"
      ? promisify(zlib.gunzip)(bytes)
      : promisify<Uint8Array, Buffer>(zlib.gzip)(bytes);
  return new Uint8Array(await recoded);
}

function contentType(file: string): string {
  const name = file.endsWith(gzipSuffix) ? file.slice(0, -gzipSuffix.length) : file;
  return contentTypes[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
}
