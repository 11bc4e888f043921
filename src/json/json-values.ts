// Represents JSON whose numbers are exact: an integer that is not safe is a bigint, and another number
// that a double does not hold is an ExactNumber. All others are values of JSON.parse. In what clients
// sent, a number may be a SentNumber, which has one of these.

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** A number that is no integer, and that a double does not hold. Equal ones have the same text. */
export class ExactNumber {
  /** Its digits and its exponent, such as "123e-20", as JSON has them. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** A number that was sent in another form than JavaScript writes it in, such as 19.90 or 1e3. */
export class SentNumber {
  readonly source: string;
  readonly value: number | bigint | ExactNumber;

  constructor(source: string, value: number | bigint | ExactNumber) {
    this.source = source;
    this.value = value;
  }

  toString(): string {
    return String(this.value);
  }
}

export function isObject(value: unknown): value is Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return !(value instanceof ExactNumber || value instanceof SentNumber);
}

/** A number as it was sent. */
export function sentDigits(number: unknown): string {
  return number instanceof SentNumber ? number.source : String(number);
}

/** The number of a value as JSON has it; undefined if it is none. */
export function numberText(value: unknown): string | undefined {
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  return value instanceof ExactNumber ? value.text : undefined;
}

/** Whether a text is probably JSON, and not YAML. */
export function isJsonText(text: string): boolean {
  return /^\s*\{/.test(text);
}

/**
 * Whether a value has more arrays and objects within each other. JSON.parse reads deeper nesting than
 * JSON.stringify writes, which takes seconds to find that out.
 */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}
