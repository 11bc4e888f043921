// What `bun test --reporter=junit` reports, in a few lines: the slowest tests, and why others were
// skipped.

interface TestResult {
  /** The test with the groups that it is in, outermost first. */
  readonly name: string;
  readonly file: string;
  readonly seconds: number;
  readonly isSkipped: boolean;
}

interface Report {
  readonly results: readonly TestResult[];
  /** How long each file ran: tests that run at the same time count once. */
  readonly fileSeconds: ReadonlyMap<string, number>;
}

const slowestMax = 10;

/** Reads a report. Bun writes one element a line. */
export function parseReport(xml: string): Report {
  const results: TestResult[] = [];
  const fileSeconds = new Map<string, number>();
  const groups: string[] = [];
  for (const line of xml.split("\n")) {
    const attribute = (name: string) => unescapeXml(new RegExp(` ${name}="([^"]*)"`).exec(line)?.[1] ?? "");
    if (/^\s*<testsuite /.test(line)) {
      if (groups.length === 0) fileSeconds.set(attribute("file"), Number(attribute("time")));
      groups.push(attribute("name"));
    } else if (/^\s*<\/testsuite>/.test(line)) groups.pop();
    else if (/^\s*<testcase /.test(line))
      results.push({
        name: [...groups.slice(1), attribute("name")].join(" > "),
        file: attribute("file"),
        seconds: Number(attribute("time")),
        isSkipped: false,
      });
    else if (/^\s*<skipped/.test(line)) results.push({ ...(results.pop() as TestResult), isSkipped: true });
  }
  return { results, fileSeconds };
}

export function formatReport({ results, fileSeconds }: Report): string {
  return [
    "slowest files:",
    ...slowest([...fileSeconds].map(([label, seconds]) => ({ label, seconds }))),
    "slowest tests:",
    ...slowest(results.map(({ name, file, seconds }) => ({ label: `${file}: ${name}`, seconds }))),
    skippedLine(results.filter(({ isSkipped }) => isSkipped)),
    "",
  ].join("\n");
}

/** One line with the reasons, each with the number of its tests. */
function skippedLine(skipped: readonly TestResult[]): string {
  const reasons = Map.groupBy(skipped, ({ name }) => /\(skipped: (.*?)\)/.exec(name)?.[1] ?? name);
  const counted = Array.from(reasons, ([reason, { length }]) => `${reason} (${length})`);
  return `skipped: ${counted.length === 0 ? "none" : counted.toSorted().join(", ")}`;
}

function slowest(items: readonly { label: string; seconds: number }[]): string[] {
  return items
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, slowestMax)
    .map(({ label, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${label}`);
}

function unescapeXml(text: string): string {
  const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text.replaceAll(/&(\w+);/g, (entity, name) => entities[name] ?? entity);
}
