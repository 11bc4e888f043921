// Text for people: colours, and characters that a terminal cannot show.

/** How text is written for people. */
export interface TextStyle {
  readonly colours: boolean;
  /** Whether characters beyond ASCII may be written. */
  readonly unicode: boolean;
}

/**
 * The style of text on a terminal or elsewhere. Colours are for terminals, unless NO_COLOR is set
 * (no-color.org) or the terminal is dumb. It shows UTF-8 unless the locale says otherwise (POSIX,
 * section 8.2): many containers set no locale at all.
 */
export function textStyle(onTerminal: boolean, environment: NodeJS.ProcessEnv): TextStyle {
  const { LC_ALL, LC_CTYPE, LANG, NO_COLOR = "", TERM } = environment;
  const locale = LC_ALL || LC_CTYPE || LANG || "UTF-8";
  return {
    colours: onTerminal && NO_COLOR === "" && TERM !== "dumb",
    unicode: !onTerminal || /utf-?8/i.test(locale),
  };
}

/** The codes of ECMA-48, Select Graphic Rendition. */
const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

export type Colour = keyof typeof codes;

export function paint(text: string, colour: Colour, { colours }: TextStyle): string {
  return colours ? `\x1b[${codes[colour]}m${text}\x1b[0m` : text;
}

// Control characters, line and paragraph separators, and those that change the direction of text.
const unprintable = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** The text on one line; what would move the cursor, or colour or reorder it, is escaped. */
export function printable(text: string, { unicode }: TextStyle): string {
  const escaped = text.replaceAll(unprintable, escapeCharacter);
  return unicode ? escaped : escaped.replaceAll(/[^ -~]/g, escapeCharacter);
}

/** Lines from clients, for a terminal. Escapes are those of JSON, so it keeps its meaning. */
export function terminalLines(text: string): string {
  return text.replaceAll(unprintable, (character) =>
    character === "\n" || character === "\t" ? character : escapeCharacter(character),
  );
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
