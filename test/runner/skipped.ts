// Why `bun test --reporter=junit` skipped tests.

/** One line with the reasons in a report, each with the number of its tests. */
export function skippedLine(xml: string): string {
  const tests = xml.matchAll(/<testcase name="([^"]*)" classname="([^"]*)"[^>]*>\s*<skipped/g);
  const reasons = Map.groupBy(tests, ([, name, groups]) => {
    const text = unescapeXml(`${groups} ${name}`);
    return /\(skipped: (.*?)\)/.exec(text)?.[1] ?? text.trim();
  });
  const counted = Array.from(reasons, ([reason, { length }]) => `${reason} (${length})`);
  return `skipped: ${counted.length === 0 ? "none" : counted.toSorted().join(", ")}\n`;
}

function unescapeXml(text: string): string {
  const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text.replaceAll(/&(\w+);/g, (entity, name) => entities[name] ?? entity);
}
