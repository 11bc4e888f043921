// Decodes UTF-8 without replacing invalid bytes.

// Drops a byte order mark at the start, as RFC 8259 (section 8.1) lets a parser do.
const decoder = new TextDecoder("utf-8", { fatal: true });
const decoderKeepingBom = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of UTF-8 bytes, or undefined if they are not valid UTF-8 (RFC 3629). */
export function decodeUtf8(bytes: Uint8Array, bom: "dropped" | "kept" = "dropped"): string | undefined {
  try {
    return (bom === "dropped" ? decoder : decoderKeepingBom).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** The text before the first invalid byte; the bytes must contain one. */
export function validUtf8Prefix(bytes: Uint8Array): string {
  // A lenient decoder replaces invalid bytes by U+FFFD, whose encoding differs from them.
  const lenient = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const reencoded = new TextEncoder().encode(lenient);
  let end = 0;
  while (end < bytes.length && bytes[end] === reencoded[end]) end++;
  // A truncated sequence may share up to three bytes with U+FFFD: step back to its start.
  for (;;) {
    const text = decodeUtf8(bytes.subarray(0, end));
    if (text !== undefined) return text;
    end--;
  }
}
