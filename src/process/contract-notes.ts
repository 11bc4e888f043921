// Words the notes of a contract as lines of a start: one for each kind, as large descriptions have
// hundreds of notes.

import { listed } from "../base/listed.ts";
import type { Operation } from "../http/operation.ts";
import { pathShape } from "../json/percent-encoding.ts";

/** Pointers that the line of a kind has. */
const pointersMax = 3;

/**
 * The notes as lines that start with `contract:`. Those on what is not served
 * come last, where a reader of a terminal finds them.
 *
 * @param own operations that a module or a sandbox serves, on which there are no notes.
 * @param shown "kinds" for a line for each kind of note, "all" for each note.
 */
export function noteLines(
  notes: readonly string[],
  own: readonly Operation[],
  shown: "kinds" | "all",
): string[] {
  const served = own.map(({ method, path }) => `${method} ${pathShape(path)} is not served`);
  const left = notes.filter((note) => !served.some((start) => pathShape(note).startsWith(start)));
  const ordered = [...left.filter((note) => !isUnserved(note)), ...left.filter(isUnserved)];
  const lines = shown === "all" ? ordered : kindLines(ordered);
  const summary =
    lines.length < left.length
      ? [`${left.length} notes, a line for each kind; --notes all prints each note`]
      : [];
  return [...summary, ...lines].map((line) => `contract: ${line}`);
}

function isUnserved(note: string): boolean {
  return /\bis not served\b|\bresponds with 501\b/.test(note);
}

/** A line for each kind, in the order of their first notes. */
function kindLines(notes: readonly string[]): string[] {
  const kinds = Map.groupBy(notes.map(partsOf), ({ kind }) => kind);
  return [...kinds].map(([kind, all]) => {
    const [first] = all as [NoteParts];
    if (all.length === 1) return first.note;
    const sentence = all.every((each) => each.sentence === first.sentence) ? first.sentence : kind;
    const pointers = all.map(({ pointer }) => pointer);
    return `${sentence} (${all.length} times: at ${listed(pointers, pointersMax)})`;
  });
}

interface NoteParts {
  readonly note: string;
  readonly sentence: string;
  readonly pointer: string;
  /** The sentence without the names in it. */
  readonly kind: string;
}

function partsOf(note: string): NoteParts {
  const at = note.lastIndexOf(" (at ");
  const sentence = at < 0 ? note : note.slice(0, at);
  const pointer = at < 0 ? "" : note.slice(at + " (at ".length, -1);
  const kind = sentence.replace(operations, "an operation").replace(names, "…");
  return { note, sentence, pointer, kind };
}

/** Operations, and other names: in quotes, of paths, and after the words that say what they name. */
const operations = /\b[A-Z]+ \/[^\s,;]*/g;
const names =
  /"(?:[^"\\]|\\.)*"|(?<!\S)\/[^\s,;]*|(?<=\b(?:parameter|field|format|scope|reference|server|variable|body of|response of|security of|see) )\S+/g;
