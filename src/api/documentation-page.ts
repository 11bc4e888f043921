// The documentation page: Scalar's API reference for the openapi.json of this server, with its scripts.

import { readFileSync } from "node:fs";
import { unavailable } from "../contract/errors.ts";
import { Assets } from "./assets.ts";
import scalarFile from "./docs/scalar.js.gz" with { type: "file" };
import scalar from "./docs/scalar.json";
import startFile from "./docs/start.js" with { type: "file" };
import { errorResponse, type ResponseValue } from "./responses.ts";

interface DocumentationPageOptions {
  /** "" or a path such as "/v1", without a slash at its end. */
  readonly basePath: string;
  /** The base address that clients use, if it is not the one that they reach the listener by. */
  readonly publicUrl: string | undefined;
}

/** Addresses in the page, which may be relative. */
interface Links {
  readonly openapi: string;
  readonly startScript: string;
  readonly scalarScript: string;
}

const commonHeaders = { "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" };

const icon =
  "%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%232e7d32' " +
  "d='M7 15V9C2 9 1 6 1 2c5 0 7 2 7 5 0-2 2-4 7-4 0 4-2 7-6 7v5z'/%3E%3C/svg%3E";

export class DocumentationPage {
  readonly #options: DocumentationPageOptions;
  readonly #startPath = scriptPath("start", Bun.SHA256.hash(readFileSync(startFile), "hex"));
  readonly #scalarPath = scriptPath("scalar", scalar.sha256);
  readonly #scripts: Assets;

  constructor(options: DocumentationPageOptions) {
    this.#options = options;
    this.#scripts = new Assets({
      files: new Map([
        [`${options.basePath}/${this.#startPath}`, startFile],
        [`${options.basePath}/${this.#scalarPath}`, scalarFile],
      ]),
      caching: "immutable",
      headers: commonHeaders,
    });
  }

  /** Whether a path is that of the page, with or without a slash at its end, or of a script. */
  has(path: string): boolean {
    const { basePath } = this.#options;
    return path === basePath || path === `${basePath}/` || this.#scripts.has(path);
  }

  /** The response to GET or HEAD of a path that `has` accepts; unavailable while too many scripts are being sent. */
  serve(path: string, request: Request): ResponseValue | Promise<ResponseValue> {
    return this.#scripts.has(path) ? this.#script(path, request) : this.#page(path);
  }

  async #script(path: string, request: Request): Promise<ResponseValue> {
    const response = await this.#scripts.respond(path, request);
    return response === undefined
      ? errorResponse(unavailable("The server is sending too many copies of its documentation at present"))
      : { ...response, outcome: "served", isJson: false };
  }

  #page(path: string): ResponseValue {
    const nonce = crypto.getRandomValues(new Uint8Array(16)).toBase64();
    const prefix = path.endsWith("/") ? "" : this.#lastSegment();
    const links = {
      openapi: `${prefix}openapi.json`,
      startScript: prefix + this.#startPath,
      scalarScript: prefix + this.#scalarPath,
    };
    return {
      status: 200,
      outcome: "served",
      headers: {
        ...commonHeaders,
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": this.#contentSecurityPolicy(nonce),
        "Cache-Control": "no-store",
      },
      isJson: false,
      body: renderHtml(links, nonce),
    };
  }

  /**
   * The last segment of the public path. Links are relative, so that they work behind a proxy; without a slash at its end
   * the address of the page lacks this segment as a base of them (RFC 3986, section 5.2.3).
   */
  #lastSegment(): string {
    const { basePath, publicUrl } = this.#options;
    const path = publicUrl === undefined ? basePath : new URL(publicUrl).pathname;
    const segment = path.split("/").findLast((part) => part !== "");
    return segment === undefined ? "" : `${segment}/`;
  }

  #contentSecurityPolicy(nonce: string): string {
    const { publicUrl } = this.#options;
    const apiOrigins = publicUrl === undefined ? "'self'" : `'self' ${new URL(publicUrl).origin}`;
    return [
      "default-src 'none'",
      "script-src 'self'",
      `style-src-elem 'nonce-${nonce}'`,
      // Scalar's templates hold style attributes with values that depend on the content, so that hashes cannot list them.
      "style-src-attr 'unsafe-inline'",
      "img-src data:",
      `connect-src ${apiOrigins}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; ");
  }
}

/** A path that changes with the content of the script, relative to the base address. */
function scriptPath(name: string, sha256: string): string {
  return `docs/${name}-${sha256.slice(0, 16)}.js`;
}

/** @param nonce for style elements; Scalar reads it from the meta element. */
function renderHtml(links: Links, nonce: string): string {
  const openapi = Bun.escapeHTML(links.openapi);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta property="csp-nonce" content="${nonce}">
    <title>Plant Store</title>
    <link rel="icon" href="data:image/svg+xml,${icon}">
    <script src="${Bun.escapeHTML(links.startScript)}"></script>
    <script src="${Bun.escapeHTML(links.scalarScript)}" defer></script>
  </head>
  <body>
    <div id="reference" data-openapi="${openapi}"></div>
    <noscript>This page needs JavaScript. The same is in <a href="${openapi}">openapi.json</a>.</noscript>
  </body>
</html>
`;
}
