// UTF-8 bytes to text, exactly or not at all.

// Drops a byte order mark at the start, as RFC 8259 (section 8.1) lets a parser do.
const decoder = new TextDecoder("utf-8", { fatal: true });
const bomKeeper = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The text that the bytes hold in UTF-8, or undefined if they are not UTF-8 (RFC 3629).
 *
 * @param bom Whether a byte order mark at the start is dropped or part of the text.
 */
export function decodeUtf8(bytes: Uint8Array, bom: "dropped" | "kept" = "dropped"): string | undefined {
  try {
    return (bom === "dropped" ? decoder : bomKeeper).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** The text before the first byte that is not part of well-formed UTF-8; the bytes must hold such a byte. */
export function validUtf8Prefix(bytes: Uint8Array): string {
  // What a lenient decoder could not read comes back as U+FFFD, whose bytes differ from those that were sent.
  const lenient = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const reencoded = new TextEncoder().encode(lenient);
  let end = 0;
  while (end < bytes.length && bytes[end] === reencoded[end]) end++;
  // A sequence that was cut short may share up to three bytes with U+FFFD: step back to where it starts.
  for (;;) {
    const text = decodeUtf8(bytes.subarray(0, end));
    if (text !== undefined) return text;
    end--;
  }
}
