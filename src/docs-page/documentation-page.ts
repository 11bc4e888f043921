// The documentation page: its addresses, headers and files.

import { readFileSync } from "node:fs";
import { StaticFiles } from "../static-files.ts";
import scriptFile from "./page/page.js" with { type: "file" };
import styleFile from "./page/style.css" with { type: "file" };

export interface DocumentationPageOptions {
  /** "" or a path such as "/v1", without a slash at its end. */
  readonly basePath: string;
  /** The base address that clients use, if it is not the listener's own. */
  readonly publicUrl: string | undefined;
}

const commonHeaders = { "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" };

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export class DocumentationPage {
  readonly #options: DocumentationPageOptions;
  readonly #scriptPath = filePath("page", "js", scriptFile);
  readonly #stylePath = filePath("style", "css", styleFile);
  readonly #files: StaticFiles;

  constructor(options: DocumentationPageOptions) {
    this.#options = options;
    this.#files = new StaticFiles({
      files: new Map([
        [`${options.basePath}/${this.#scriptPath}`, () => Bun.file(scriptFile).bytes()],
        [`${options.basePath}/${this.#stylePath}`, () => Bun.file(styleFile).bytes()],
      ]),
      caching: "immutable",
      headers: commonHeaders,
    });
  }

  /** Whether a path is that of the page or of one of its files. */
  has(path: string): boolean {
    const { basePath } = this.#options;
    return path === basePath || path === `${basePath}/` || this.#files.has(path);
  }

  /**
   * The response to GET or HEAD of a path that `has` accepts.
   *
   * @param url the base address of the server, for the samples.
   */
  async respond(path: string, request: Request, url: string): Promise<Response> {
    if (!this.#files.has(path)) return this.#page(path, url);
    const file = await this.#files.respond(path, request);
    return new Response(file.body, file);
  }

  async #page(path: string, url: string): Promise<Response> {
    // Loaded with the first visit: a server starts without it.
    const { renderDocumentation } = await import("./documentation-html.ts");
    const prefix = path.endsWith("/") ? "" : this.#lastSegment();
    const body = renderDocumentation({ prefix, style: this.#stylePath, script: this.#scriptPath, url });
    return new Response(body, {
      headers: {
        ...commonHeaders,
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": contentSecurityPolicy,
        "Cache-Control": "no-store",
      },
    });
  }

  /**
   * The last segment of the public path. Links are relative, so that they work behind a proxy;
   * without a slash at its end the page's address lacks this segment (RFC 3986, section 5.2.3).
   */
  #lastSegment(): string {
    const { basePath, publicUrl } = this.#options;
    const path = publicUrl === undefined ? basePath : new URL(publicUrl).pathname;
    const segment = path.split("/").findLast((part) => part !== "");
    return segment === undefined ? "" : `${segment}/`;
  }
}

/** A path that changes with the content of the file, relative to the base address. */
function filePath(name: string, extension: string, file: string): string {
  return `docs/${name}-${Bun.SHA256.hash(readFileSync(file), "hex").slice(0, 16)}.${extension}`;
}
