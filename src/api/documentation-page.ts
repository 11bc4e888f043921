// The documentation page: Scalar's API reference for this server's own description, and the files that it is made of.

import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { type ApiError, unavailable } from "../contract/errors.ts";
import scalarFile from "./docs/scalar.js.gz" with { type: "file" };
import startFile from "./docs/start.js" with { type: "file" };
import { documentationHtml } from "./documentation-html.ts";
import { OutgoingBodies } from "./outgoing-bodies.ts";

interface DocumentationPageOptions {
  /** "" or a path such as "/v1", without a slash at its end. */
  readonly basePath: string;
  /** The base address that clients use, if it is not the one that they reach the listener by. */
  readonly publicUrl: string | undefined;
}

/** A file of the page. Its name changes with its content, so that it may be kept for good. */
interface Asset {
  /** Relative to the base address. */
  readonly path: string;
  readonly file: string;
}

// The bundle has 4.3 MB, compressed 1.3: it lies compressed in the tree, and goes to the network as its reader wants it.
const compressedSuffix = ".gz";

/** 256 files on their way. */
const outgoingLimits = { bytesMax: 16 * 2 ** 20, sendMsMax: 120_000 };

// RFC 9110, section 12.5.3.
const takesGzip = /(?:^|[\s,])(?:gzip|\*)(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

/** Serves the page. Each of its files is held in memory once, for all answers, from when it is first asked for. */
export class DocumentationPage {
  readonly #outgoing = new OutgoingBodies(outgoingLimits);
  readonly #contents = new Map<string, Promise<Uint8Array>>();
  readonly #options: DocumentationPageOptions;
  readonly #start = assetOf(startFile);
  readonly #scalar = assetOf(scalarFile);
  readonly #assets: ReadonlyMap<string, Asset>;

  constructor(options: DocumentationPageOptions) {
    this.#options = options;
    const assets = [this.#start, this.#scalar];
    this.#assets = new Map(assets.map((asset) => [`${options.basePath}/${asset.path}`, asset]));
  }

  /** Whether a path is the page's, with or without its slash, or a file's. */
  has(path: string): boolean {
    const { basePath } = this.#options;
    return path === basePath || path === `${basePath}/` || this.#assets.has(path);
  }

  /** The answer to GET or HEAD of a path that it has; unavailable past the answers that may be on their way. */
  answer(path: string, request: Request): Response | Promise<Response | ApiError> {
    const asset = this.#assets.get(path);
    return asset === undefined ? this.#page(path) : this.#asset(asset, request);
  }

  async #asset({ file }: Asset, request: Request): Promise<Response | ApiError> {
    const headers = new Headers({
      ...commonHeaders,
      "Content-Type": "text/javascript; charset=utf-8",
      "Cache-Control": "public, max-age=31536000, immutable",
    });
    const isCompressed = file.endsWith(compressedSuffix);
    const takesCompressed = takesGzip.test(request.headers.get("accept-encoding") ?? "");
    if (isCompressed) headers.set("Vary", "Accept-Encoding");
    if (isCompressed && takesCompressed) headers.set("Content-Encoding", "gzip");
    const content = await this.#content(file, isCompressed && !takesCompressed);
    if (request.method === "HEAD") {
      // A stream that nobody reads would hold its place until its time is over.
      headers.set("Content-Length", String(content.byteLength));
      return new Response(null, { headers });
    }
    const body = this.#outgoing.shared(content);
    if (body === undefined)
      return unavailable("The server sends too many files of its documentation at present");
    return new Response(body, { headers });
  }

  #content(file: string, decompress: boolean): Promise<Uint8Array> {
    const key = `${file} ${decompress}`;
    let content = this.#contents.get(key);
    if (content === undefined) {
      content = Bun.file(file).bytes();
      if (decompress) content = content.then(gunzipped);
      this.#contents.set(key, content);
      // Where descriptors had run out the next request finds some.
      content.catch(() => this.#contents.delete(key));
    }
    return content;
  }

  #page(path: string): Response {
    const nonce = randomBytes(16).toString("base64");
    const prefix = path.endsWith("/") ? "" : this.#lastSegment();
    const links = {
      description: `${prefix}openapi.json`,
      start: prefix + this.#start.path,
      scalar: prefix + this.#scalar.path,
    };
    return new Response(documentationHtml(links, nonce), {
      headers: {
        ...commonHeaders,
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": this.#policy(nonce),
        "Cache-Control": "no-store",
      },
    });
  }

  /** Links are relative, so that they hold behind a proxy; at the page's address without its slash they lack a step. */
  #lastSegment(): string {
    const { basePath, publicUrl } = this.#options;
    const path = publicUrl === undefined ? basePath : new URL(publicUrl).pathname;
    const segment = path.split("/").findLast((part) => part !== "");
    return segment === undefined ? "" : `${segment}/`;
  }

  #policy(nonce: string): string {
    const { publicUrl } = this.#options;
    const called = publicUrl === undefined ? "'self'" : `'self' ${new URL(publicUrl).origin}`;
    return [
      "default-src 'none'",
      "script-src 'self'",
      `style-src-elem 'nonce-${nonce}'`,
      // Scalar's templates hold style attributes, whose values change with what is shown, so that no list of hashes would last.
      "style-src-attr 'unsafe-inline'",
      "img-src data:",
      `connect-src ${called}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; ");
  }
}

const commonHeaders = { "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" };

function assetOf(file: string): Asset {
  const hash = createHash("sha256").update(readFileSync(file)).digest("hex").slice(0, 16);
  // A compiled executable has put a hash of its own behind the name.
  const [stem = ""] = basename(file).split(/[.-]/);
  return { path: `docs/${stem}-${hash}.js`, file };
}

const gunzipped: (bytes: Uint8Array) => Promise<Uint8Array> = promisify(gunzip);
