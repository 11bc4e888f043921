// Encodes and decodes texts in URLs (percent-encoding: RFC 3986, section 2.1), and paths of them.

/** Decodes a text; returns undefined if it is malformed. */
export function tryDecodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Decodes a text; returns it unchanged if it is malformed. */
export function decodePercent(text: string): string {
  return tryDecodePercent(text) ?? text;
}

/** Encodes a path of a description, except its braces and what is encoded already. */
export function encodePath(path: string): string {
  return encodeURI(path)
    .replaceAll(/%7[BD]/g, decodeURIComponent)
    .replaceAll(/%25(?=[\da-f]{2})/gi, "%");
}

/** A path in the one spelling of its characters (RFC 3986, section 6.2.2). */
export function normalizePercent(path: string): string {
  return path.replace(/%[0-9a-f]{2}/gi, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : encoded.toUpperCase();
  });
}

/** A path without the names of its parameters. */
export function pathShape(path: string): string {
  return path.replaceAll(/\{[^{}]*\}/g, "{}");
}
