// Bundles the page's scripts, which takes Bun 10 to 50 ms. scripts/build.ts replaces this module
// with its result, as an executable has no sources.

/** @param files contents of modules, by their path, in place of the files. */
export async function bundlePage(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [`${import.meta.dir}/page/app.ts`],
    files: { ...files },
    target: "browser",
    minify: { whitespace: true, syntax: true },
  });
  return (await outputs[0]?.text()) ?? "";
}
