// The files of the page, as they are: those beside this one, and the libraries' own.

import { readFileSync } from "node:fs";
import { answer } from "./responses.ts";

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

const ownFiles = [
  "index.html",
  "style.css",
  "icon.svg",
  "app.js",
  "api.js",
  "add-plant.js",
  "dialogs.js",
  "format.js",
  "indexes.js",
  "list-caption.js",
  "plants.js",
  "charts.js",
  "session.js",
  "tokens.js",
  "plant-dialog.js",
];

const libraryFiles: Readonly<Record<string, string>> = {
  "library/preact.js": "preact",
  "library/htm.js": "htm",
  "library/uplot.js": "uplot/dist/uPlot.esm.js",
  "library/uplot.css": "uplot/dist/uPlot.min.css",
};

interface PageFile {
  /** Not bytes: every answer would have a copy of them until it is read. */
  readonly body: Blob;
  readonly type: string;
  readonly etag: string;
}

export class PageFiles {
  #files: ReadonlyMap<string, PageFile> | undefined;

  /** The file at a path below that of the page; undefined if there is none. */
  answer(request: Request, path: string): Response | undefined {
    this.#files ??= readFiles();
    const file = this.#files.get(path === "" ? "index.html" : path);
    if (file === undefined) return undefined;
    // Looked for anew each time, so that a page never runs with the script of another version.
    const headers = { "Content-Type": file.type, ETag: file.etag, "Cache-Control": "no-cache" };
    if (request.headers.get("if-none-match") === file.etag) return answer(null, 304, headers);
    return answer(file.body, 200, headers);
  }
}

/** Read when the page is first asked for: a server whose console nobody opens does without. */
function readFiles(): Map<string, PageFile> {
  const files = new Map<string, PageFile>();
  for (const name of ownFiles) files.set(name, readFile(new URL(`./page/${name}`, import.meta.url).pathname));
  for (const [name, module] of Object.entries(libraryFiles))
    files.set(name, readFile(Bun.resolveSync(module, import.meta.dir)));
  return files;
}

function readFile(path: string): PageFile {
  const bytes = new Uint8Array(readFileSync(path));
  const extension = path.slice(path.lastIndexOf(".") + 1);
  const type = types[extension === "mjs" ? "js" : extension] ?? "application/octet-stream";
  return { body: new Blob([bytes]), type, etag: `"${Bun.SHA256.hash(bytes, "base64url")}"` };
}
