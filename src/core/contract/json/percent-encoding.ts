// Percent-encoding (RFC 3986, section 2.1).

/** Decodes a text; returns it unchanged if it is malformed. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Encodes a path of a description, except its braces and what is encoded already. */
export function encodePath(path: string): string {
  return encodeURI(path)
    .replaceAll(/%7[BD]/g, decodeURIComponent)
    .replaceAll(/%25(?=[\da-f]{2})/gi, "%");
}
