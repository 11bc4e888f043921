// Media types and ranges of them (RFC 9110, section 12.5.1).

/** Whether a media type is one of a range such as "text/*", which may have parameters. */
export function matchesMedia(type: string, range: string): boolean {
  const [wanted = ""] = range.toLowerCase().split(";");
  const [main = "", sub = ""] = wanted.trim().split("/");
  const [ownMain = "", ownSub = ""] = (type.toLowerCase().split(";")[0] ?? "").trim().split("/");
  return (main === "*" || main === ownMain) && (sub === "*" || sub === ownSub);
}

/** Whether a media type is JSON (RFC 8259), or another format written in it (RFC 6839). */
export function isJsonMedia(type: string): boolean {
  return /^[^;]*[/+]json\s*(?:;|$)/i.test(type);
}

/** The media type that is sent where a range is described. */
export function concreteMedia(type: string): string {
  if (!type.includes("*")) return type;
  const [main] = type.split("/");
  const known: Readonly<Record<string, string>> = {
    text: "text/plain",
    image: "image/png",
    audio: "audio/mpeg",
    video: "video/mp4",
  };
  return known[main ?? ""] ?? "application/json";
}

/** Described media types in the order of an Accept field: the ones that it names, and then the others. */
export function byAccept<Item extends readonly [type: string, ...unknown[]]>(
  items: readonly Item[],
  accept: string | null,
): Item[] {
  const ranges = (accept ?? "*/*").split(",").map((range) => {
    const weight = /;\s*q=([\d.]+)/i.exec(range)?.[1];
    return { range, weight: Number(weight ?? 1) };
  });
  const weightOf = (type: string) =>
    Math.max(0, ...ranges.filter(({ range }) => matches(type, range)).map(({ weight }) => weight));
  const matches = (type: string, range: string) => matchesMedia(type, range) || matchesMedia(range, type);
  // JSON comes first of those that are as welcome.
  return items.toSorted(
    ([one], [other]) =>
      weightOf(other) - weightOf(one) || Number(isJsonMedia(other)) - Number(isJsonMedia(one)),
  );
}
