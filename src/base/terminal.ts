// Colours text for people, and escapes the characters that a terminal cannot show.

/** The codes of ECMA-48, Select Graphic Rendition. */
const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

export type Colour = keyof typeof codes;

export function paint(text: string, colour: Colour, colours: boolean): string {
  return colours ? `\x1b[${codes[colour]}m${text}\x1b[0m` : text;
}

// Control characters, line and paragraph separators, and those that change the direction of text.
const unprintable = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** The text on one line; what would move the cursor, or colour or reorder it, is escaped. */
export function printable(text: string): string {
  return text.replaceAll(
    unprintable,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
