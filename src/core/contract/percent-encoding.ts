// Percent-encoding (RFC 3986, section 2.1).

/** The text that is encoded; the text as it is if that is malformed. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
