// Runs the simulation command in a process of its own.

export async function run(args: readonly string[]): Promise<{ stdout: string; exitCode: number }> {
  const main = new URL("main.ts", import.meta.url).pathname;
  const child = Bun.spawn([process.execPath, main, ...args], { stdout: "pipe", stderr: "inherit" });
  const [stdout, exitCode] = await Promise.all([child.stdout.text(), child.exited]);
  return { stdout, exitCode };
}
