// How far an import or export has come, for a person who waits.

export interface ProgressOptions {
  /** `bar` redraws one line of a terminal, `lines` adds one now and then, `none` says nothing. */
  readonly style: "bar" | "lines" | "none";
  readonly write: (text: string) => void;
  /** Milliseconds on a clock that does not jump. */
  readonly now: () => number;
}

const barEveryMs = 100;
const linesEveryMs = 5_000;
const barWidth = 24;

/** Progress for whoever runs a command: a bar on a terminal, lines elsewhere, on standard error. */
export function operatorProgress(isQuiet: boolean): Progress {
  return new Progress({
    style: isQuiet ? "none" : process.stderr.isTTY ? "bar" : "lines",
    write: (text) => process.stderr.write(text),
    now: () => performance.now(),
  });
}

export class Progress {
  readonly #options: ProgressOptions;
  readonly #everyMs: number;
  readonly #start: number;
  #last: number;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#everyMs = options.style === "bar" ? barEveryMs : linesEveryMs;
    this.#start = options.now();
    this.#last = this.#start;
  }

  /** Tells how many plants are done, and of what part of the whole, from 0 to 1; undefined where the whole is not known. */
  update(plants: number, part: number | undefined): void {
    const now = this.#options.now();
    if (this.#options.style === "none" || now - this.#last < this.#everyMs) return;
    this.#last = now;
    const text = progressText(plants, part, (now - this.#start) / 1_000);
    this.#options.write(this.#options.style === "bar" ? `\r\x1b[K${barOf(part)}${text}` : `${text}\n`);
  }

  /** Clears a bar, so that the next line stands where it was. */
  end(): void {
    if (this.#options.style === "bar") this.#options.write("\r\x1b[K");
  }
}

/** Such as "1,200,000 plants, 310,000 a second, 42 %, 5 s left". */
export function progressText(plants: number, part: number | undefined, seconds: number): string {
  const rate = Math.round(plants / Math.max(seconds, 0.001));
  const text = `${plants.toLocaleString("en")} plants, ${rate.toLocaleString("en")} a second`;
  if (part === undefined || part <= 0) return text;
  const left = Math.ceil((seconds / part) * (1 - part));
  return `${text}, ${Math.floor(part * 100)} %, ${left} s left`;
}

function barOf(part: number | undefined): string {
  if (part === undefined) return "";
  const done = Math.round(part * barWidth);
  return `[${"#".repeat(done)}${" ".repeat(barWidth - done)}] `;
}
