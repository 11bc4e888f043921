// The build of this service. `npm run build` puts the commit and the licences into an executable;
// elsewhere they are undefined.

import packageJson from "../../package.json";

declare const BUILD_COMMIT: string | undefined;
declare const BUILD_LICENSES: string | undefined;

/** The commit, with "+" after it if files had changes. */
const commit = typeof BUILD_COMMIT === "string" ? BUILD_COMMIT : undefined;

/** The licences of the service and of every package in the executable. */
export const licenses = typeof BUILD_LICENSES === "string" ? BUILD_LICENSES : undefined;

/** One line: the version, then the commit if it is known, Bun's version and SQLite's. */
export function describeBuild(): string {
  const { bun, sqlite } = process.versions;
  const build = commit === undefined ? "" : `commit ${commit}, `;
  return `${packageJson.version} (${build}Bun ${bun}, SQLite ${sqlite})`;
}
