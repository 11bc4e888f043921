// The files of the page. Loaded when the page is first requested.

import { AdminError, securityHeaders } from "../admin-pages/admin-responses.ts";
import { staticFiles } from "../admin-pages/static-files.ts";
import iconImage from "./page/icon.svg" with { type: "file" };
import indexPage from "./page/index.html" with { type: "file" };
import styleSheet from "./page/style.css" with { type: "file" };
import uplotStyle from "./page/uplot.css" with { type: "file" };
import { bundlePage } from "./page-bundle.ts";

const read = (path: string) => () => Bun.file(path).bytes();

const sharedFiles = [
  ["/console/icon.svg", read(iconImage)],
  ["/console/style.css", read(styleSheet)],
  ["/console/uplot.css", read(uplotStyle)],
  ["/console/app.js", async () => new TextEncoder().encode(await bundlePage())],
] as const;

/** By the service whose name the page has: a process has one. */
const made = new Map<string, ReturnType<typeof staticFiles>>();

export function pageFiles(service: string): ReturnType<typeof staticFiles> {
  const existing = made.get(service);
  if (existing !== undefined) return existing;
  const index = async () => {
    // The types know only HTML that Bun bundles.
    const html = await Bun.file(indexPage as unknown as string).text();
    return new TextEncoder().encode(html.replaceAll("Plant Store", () => Bun.escapeHTML(service)));
  };
  const files = staticFiles(new Map([["/console/", index], ...sharedFiles]), securityHeaders)
    .onError((error) => {
      throw error;
    })
    .notFound(() => {
      throw new AdminError(404, "There is no such file.");
    });
  made.set(service, files);
  return files;
}
