// The documentation page: Scalar's API reference for this server's own openapi.json, and the files that it consists of.

import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { unavailable } from "../contract/errors.ts";
import scalarFile from "./docs/scalar.js.gz" with { type: "file" };
import startFile from "./docs/start.js" with { type: "file" };
import { OutgoingBodies } from "./outgoing-bodies.ts";
import { errorResponse, type ResponseValue } from "./responses.ts";

interface DocumentationPageOptions {
  /** "" or a path such as "/v1", without a slash at its end. */
  readonly basePath: string;
  /** The base address that clients use, where it is not the listener's own. */
  readonly publicUrl: string | undefined;
}

/** A file of the page. Its path contains a hash of its content, so that it may be cached for good. */
interface Asset {
  /** Relative to the base address. */
  readonly path: string;
  readonly file: string;
}

// The bundle has 4.3 MB, and 1.3 MB compressed: it is stored compressed, and sent as the client accepts it.
const compressedSuffix = ".gz";

/** 256 files being sent at a time. */
const outgoingLimits = { bytesMax: 16 * 2 ** 20, sendMsMax: 120_000 };

// RFC 9110, section 12.5.3.
const acceptsGzip = /(?:^|[\s,])(?:gzip|\*)(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

const commonHeaders = { "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" };

/** Serves the page. Each of its files is loaded on its first request, and then shared by all responses. */
export class DocumentationPage {
  readonly #outgoing = new OutgoingBodies(outgoingLimits);
  readonly #contents = new Map<string, Promise<Uint8Array>>();
  readonly #options: DocumentationPageOptions;
  readonly #start = toAsset(startFile);
  readonly #scalar = toAsset(scalarFile);
  readonly #assets: ReadonlyMap<string, Asset>;

  constructor(options: DocumentationPageOptions) {
    this.#options = options;
    const assets = [this.#start, this.#scalar];
    this.#assets = new Map(assets.map((asset) => [`${options.basePath}/${asset.path}`, asset]));
  }

  /** Whether a path is that of the page, with or without its slash, or of one of its files. */
  has(path: string): boolean {
    const { basePath } = this.#options;
    return path === basePath || path === `${basePath}/` || this.#assets.has(path);
  }

  /** The response to GET or HEAD of a path that `has` accepts; unavailable while too many files are being sent. */
  serve(path: string, request: Request): ResponseValue | Promise<ResponseValue> {
    const asset = this.#assets.get(path);
    return asset === undefined ? this.#servePage(path) : this.#serveAsset(asset, request);
  }

  async #serveAsset({ file }: Asset, request: Request): Promise<ResponseValue> {
    const headers: Record<string, string> = {
      ...commonHeaders,
      "Content-Type": "text/javascript; charset=utf-8",
      "Cache-Control": "public, max-age=31536000, immutable",
    };
    const isCompressed = file.endsWith(compressedSuffix);
    const sendsCompressed = acceptsGzip.test(request.headers.get("accept-encoding") ?? "");
    if (isCompressed) headers.Vary = "Accept-Encoding";
    if (isCompressed && sendsCompressed) headers["Content-Encoding"] = "gzip";
    const content = await this.#load(file, isCompressed && !sendsCompressed);
    if (request.method === "HEAD") {
      // A stream that is never read would count as being sent until its time-out.
      headers["Content-Length"] = String(content.byteLength);
      return { status: 200, outcome: "served", headers, isJson: false, body: null };
    }
    const body = this.#outgoing.shared(content);
    if (body === undefined)
      return errorResponse(unavailable("The server sends too many files of its documentation at present"));
    return { status: 200, outcome: "served", headers, isJson: false, body };
  }

  #load(file: string, decompress: boolean): Promise<Uint8Array> {
    const key = `${file} ${decompress}`;
    let content = this.#contents.get(key);
    if (content === undefined) {
      content = Bun.file(file).bytes();
      if (decompress) content = content.then(decompressGzip);
      this.#contents.set(key, content);
      // A load that failed, as for lack of descriptors, is repeated for the next request.
      content.catch(() => this.#contents.delete(key));
    }
    return content;
  }

  #servePage(path: string): ResponseValue {
    const nonce = randomBytes(16).toString("base64");
    const prefix = path.endsWith("/") ? "" : this.#lastSegment();
    const links = {
      openapi: `${prefix}openapi.json`,
      start: prefix + this.#start.path,
      scalar: prefix + this.#scalar.path,
    };
    const headers = {
      ...commonHeaders,
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": this.#contentSecurityPolicy(nonce),
      "Cache-Control": "no-store",
    };
    return { status: 200, outcome: "served", headers, isJson: false, body: documentationHtml(links, nonce) };
  }

  /** Links are relative, so that they work behind a proxy; from the page's path without its slash they need the last segment. */
  #lastSegment(): string {
    const { basePath, publicUrl } = this.#options;
    const path = publicUrl === undefined ? basePath : new URL(publicUrl).pathname;
    const segment = path.split("/").findLast((part) => part !== "");
    return segment === undefined ? "" : `${segment}/`;
  }

  #contentSecurityPolicy(nonce: string): string {
    const { publicUrl } = this.#options;
    const connectSources = publicUrl === undefined ? "'self'" : `'self' ${new URL(publicUrl).origin}`;
    return [
      "default-src 'none'",
      "script-src 'self'",
      `style-src-elem 'nonce-${nonce}'`,
      // Scalar's templates contain style attributes whose values change with the content, so they cannot be listed by hash.
      "style-src-attr 'unsafe-inline'",
      "img-src data:",
      `connect-src ${connectSources}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; ");
  }
}

function toAsset(file: string): Asset {
  const hash = createHash("sha256").update(readFileSync(file)).digest("hex").slice(0, 16);
  // A compiled executable appends a hash of its own to the name.
  const [stem = ""] = basename(file).split(/[.-]/);
  return { path: `docs/${stem}-${hash}.js`, file };
}

const decompressGzip: (bytes: Uint8Array) => Promise<Uint8Array> = promisify(gunzip);

/** Addresses relative to the page. */
interface DocumentationLinks {
  readonly openapi: string;
  readonly start: string;
  readonly scalar: string;
}

const icon =
  "%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%232e7d32' " +
  "d='M7 15V9C2 9 1 6 1 2c5 0 7 2 7 5 0-2 2-4 7-4 0 4-2 7-6 7v5z'/%3E%3C/svg%3E";

/** @param nonce for the style elements that Scalar adds, which reads it from the meta element. */
function documentationHtml(links: DocumentationLinks, nonce: string): string {
  const [openapi, start, scalar] = [links.openapi, links.start, links.scalar].map(Bun.escapeHTML);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta property="csp-nonce" content="${nonce}">
    <title>Plant Store</title>
    <link rel="icon" href="data:image/svg+xml,${icon}">
    <script src="${start}"></script>
    <script src="${scalar}" defer></script>
  </head>
  <body>
    <div id="reference" data-openapi="${openapi}"></div>
    <noscript>This page needs JavaScript. <a href="${openapi}">openapi.json</a> has the same content.</noscript>
  </body>
</html>
`;
}
