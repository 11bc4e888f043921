// Guesses the encoding of a file that has records that are not UTF-8.

/**
 * Five bytes mean nothing in Windows-1252, and three letters with accents seldom stand together.
 */
const notWestern = /[\x81\x8d\x8f\x90\x9d]|[\x80-\xff]{3}/;

/** Guesses the encoding from the bytes of all records. Windows-1252 has all letters of Latin-1. */
export class EncodingGuess {
  #hasUtf8 = false;
  /** Whether the bytes that are not UTF-8 may be Windows-1252; undefined before the first. */
  #isWestern: boolean | undefined;

  /** @param text decoded from the bytes; undefined if they are not UTF-8. */
  add(bytes: Uint8Array, text: string | undefined): void {
    if (text === undefined)
      this.#isWestern = this.#isWestern !== false && !notWestern.test(Buffer.from(bytes).toString("latin1"));
    // ASCII has as many bytes as characters.
    else if (text.length !== bytes.length) this.#hasUtf8 = true;
  }

  /**
   * Advice about a file that is probably Windows-1252; undefined if it is not. If other records are
   * UTF-8, a conversion would spoil them.
   */
  get advice(): string | undefined {
    if (this.#isWestern !== true || this.#hasUtf8) return undefined;
    return 'the file is probably Windows-1252: convert it with "iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW", and import NEW';
  }
}
