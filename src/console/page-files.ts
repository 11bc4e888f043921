// Serves the files of the page. Loaded when the page is first requested.

import { AdminError, securityHeaders } from "../admin-pages/admin-responses.ts";
import { staticFiles } from "../admin-pages/static-files.ts";
import iconImage from "./page/icon.svg" with { type: "text" };
import indexPage from "./page/index.html" with { type: "text" };
import styleSheet from "./page/style.css" with { type: "text" };
import { bundlePage } from "./page-bundle.ts";

/** @param service the name that the page shows. */
export function pageFiles(service: string) {
  // The types know only HTML that Bun bundles.
  const html = indexPage as unknown as string;
  const files = new Map([
    ["/console/", async () => html.replaceAll("Plant Store", () => Bun.escapeHTML(service))],
    ["/console/icon.svg", async () => iconImage],
    ["/console/style.css", async () => styleSheet],
    ["/console/app.js", () => bundlePage()],
  ]);
  return staticFiles(files, securityHeaders)
    .onError((error) => {
      throw error;
    })
    .notFound(() => {
      throw new AdminError(404, "There is no such file.");
    });
}
