// npm run audit: the exit code is 1 if a locked package has a known vulnerability. Where that
// cannot be checked, offline or with a registry without advisories, it prints the reason, and the
// exit code is 0.

interface Report {
  /** By package; absent where npm could not ask. */
  readonly vulnerabilities?: Record<string, { readonly severity: string }>;
  readonly metadata?: { readonly dependencies: { readonly total: number } };
  /** How a registry answered that could not be asked. */
  readonly message?: string;
}

const root = new URL("..", import.meta.url).pathname;
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
