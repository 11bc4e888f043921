// Percent-encoding (RFC 3986, section 2.1).

/** Decodes a text; returns it unchanged if it is malformed. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
