// The files of the page, by their URL path below that of the console. Loaded when the page is first
// requested.

import { securityHeaders } from "../core/admin/responses.ts";
import { StaticFiles } from "../static-files.ts";
import iconImage from "./page/icon.svg" with { type: "file" };
import indexPage from "./page/index.html" with { type: "file" };
import styleSheet from "./page/style.css" with { type: "file" };
import uplotStyle from "./page/uplot.css" with { type: "file" };
import { bundlePage } from "./page-bundle.ts";

const read = (path: string) => () => Bun.file(path).bytes();

const files = new Map([
  // The types know only HTML that Bun bundles.
  ["", read(indexPage as unknown as string)],
  ["icon.svg", read(iconImage)],
  ["style.css", read(styleSheet)],
  ["uplot.css", read(uplotStyle)],
  ["app.js", async () => new TextEncoder().encode(await bundlePage())],
]);

export const pageFiles = new StaticFiles({ files, headers: securityHeaders });
