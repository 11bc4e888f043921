// Describes the build of this program. `npm run build` puts the commit into an executable;
// elsewhere it is undefined.

import packageJson from "../../package.json";

declare const BUILD_COMMIT: string | undefined;

/** The commit, with "+" after it if files had changes. */
const commit = typeof BUILD_COMMIT === "string" ? BUILD_COMMIT : undefined;

/** One line: the version, then the commit if it is known, Bun's version and SQLite's. */
export function describeBuild(): string {
  const { bun, sqlite } = process.versions;
  const build = commit === undefined ? "" : `commit ${commit}, `;
  return `${packageJson.version} (${build}Bun ${bun}, SQLite ${sqlite})`;
}
