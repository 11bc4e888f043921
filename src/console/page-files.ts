// The files of the page. Loaded when the page is first requested.

import { AdminError, securityHeaders } from "../admin-pages/admin-responses.ts";
import { staticFiles } from "../admin-pages/static-files.ts";
import iconImage from "./page/icon.svg" with { type: "text" };
import indexPage from "./page/index.html" with { type: "text" };
import styleSheet from "./page/style.css" with { type: "text" };
import uplotStyle from "./page/uplot.css" with { type: "text" };
import { bundlePage } from "./page-bundle.ts";

const sharedFiles = [
  ["/console/icon.svg", async () => iconImage],
  ["/console/style.css", async () => styleSheet],
  ["/console/uplot.css", async () => uplotStyle],
  ["/console/app.js", () => bundlePage()],
] as const;

/** By the service whose name the page has: a process has one. */
const made = new Map<string, ReturnType<typeof staticFiles>>();

export function pageFiles(service: string): ReturnType<typeof staticFiles> {
  const existing = made.get(service);
  if (existing !== undefined) return existing;
  // The types know only HTML that Bun bundles.
  const html = indexPage as unknown as string;
  const index = async () => html.replaceAll("Plant Store", () => Bun.escapeHTML(service));
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
