// npm run audit: whether a weakness of any locked package is known. The exit code is 1 if so. Where nobody can be asked,
// offline or at a registry that keeps no such list, it says why, and the exit code is 0.

interface Report {
  /** By package; absent where npm could not ask. */
  readonly vulnerabilities?: Record<string, { readonly severity: string }>;
  readonly metadata?: { readonly dependencies: { readonly total: number } };
  /** How a registry answered that could not be asked. */
  readonly message?: string;
}

const root = new URL("../../../..", import.meta.url).pathname;
const child = Bun.spawn(["npm", "audit", "--json"], { cwd: root, stdout: "pipe", stderr: "ignore" });
const answer = await child.stdout.text();
const { vulnerabilities, metadata, message }: Report = JSON.parse(answer);

if (message !== undefined) {
  report(`skipped: no registry could be asked: ${message}`);
} else if (vulnerabilities === undefined) {
  throw new Error(`npm audit failed: ${answer}`);
} else {
  const found = Object.entries(vulnerabilities);
  for (const [name, { severity }] of found) report(`${name}: ${severity}; npm audit says more`);
  report(`${found.length} of ${metadata?.dependencies.total} packages have a known weakness`);
  process.exitCode = found.length === 0 ? 0 : 1;
}

function report(text: string): void {
  process.stdout.write(`${text}\n`);
}
