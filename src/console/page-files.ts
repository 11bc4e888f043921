// The files of the page. Loaded when the page is first requested.

import { AdminError, securityHeaders } from "../admin-responses.ts";
import { staticFiles } from "../static-files.ts";
import iconImage from "./page/icon.svg" with { type: "file" };
import indexPage from "./page/index.html" with { type: "file" };
import styleSheet from "./page/style.css" with { type: "file" };
import uplotStyle from "./page/uplot.css" with { type: "file" };
import { bundlePage } from "./page-bundle.ts";

const read = (path: string) => () => Bun.file(path).bytes();

const files = new Map([
  // The types know only HTML that Bun bundles.
  ["/console/", read(indexPage as unknown as string)],
  ["/console/icon.svg", read(iconImage)],
  ["/console/style.css", read(styleSheet)],
  ["/console/uplot.css", read(uplotStyle)],
  ["/console/app.js", async () => new TextEncoder().encode(await bundlePage())],
]);

export const pageFiles = staticFiles(files, securityHeaders)
  .onError((error) => {
    throw error;
  })
  .notFound(() => {
    throw new AdminError(404, "There is no such file.");
  });
