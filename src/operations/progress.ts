// Progress of an import or export, on standard error.

export interface ProgressOptions {
  /** `bar` redraws one line of a terminal, `lines` prints a line every 5 seconds, or `none`. */
  readonly style: "bar" | "lines" | "none";
  readonly write: (text: string) => void;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
}

const barEveryMs = 100;
const linesEveryMs = 5_000;
const barWidth = 24;

/** A bar on a terminal, otherwise lines; nothing without a stream. */
export function operatorProgress(
  stream: { readonly isTTY: boolean; write(text: string): unknown } | undefined,
): Progress {
  return new Progress({
    style: stream === undefined ? "none" : stream.isTTY ? "bar" : "lines",
    write: (text) => stream?.write(text),
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

  /** @param fraction the completed part, from 0 to 1; undefined if the whole is not known */
  update(plants: number, fraction: number | undefined): void {
    this.#write(fraction, (seconds) => progressText(plants, fraction, seconds));
  }

  /** @param fraction The completed part of something else than plants, from 0 to 1. */
  updateShare(fraction: number): void {
    this.#write(fraction, (seconds) => formatShare(fraction, seconds));
  }

  #write(fraction: number | undefined, format: (seconds: number) => string): void {
    const now = this.#options.now();
    if (this.#options.style === "none" || now - this.#last < this.#everyMs) return;
    this.#last = now;
    const text = format((now - this.#start) / 1_000);
    this.#options.write(
      this.#options.style === "bar" ? `\r\x1b[K${formatBar(fraction)}${text}` : `${text}\n`,
    );
  }

  /** Clears the bar. */
  end(): void {
    if (this.#options.style === "bar") this.#options.write("\r\x1b[K");
  }
}

/** Such as "1,200,000 plants, 310,000 a second, 42 %, 5 s left". */
export function progressText(plants: number, fraction: number | undefined, seconds: number): string {
  const rate = Math.round(plants / Math.max(seconds, 0.001));
  const text = `${plants.toLocaleString("en")} plants, ${rate.toLocaleString("en")} a second`;
  if (fraction === undefined || fraction <= 0) return text;
  return `${text}, ${formatShare(fraction, seconds)}`;
}

function formatShare(fraction: number, seconds: number): string {
  if (fraction <= 0) return "0 %";
  const left = Math.ceil((seconds / fraction) * (1 - fraction));
  return `${Math.floor(fraction * 100)} %, ${left} s left`;
}

function formatBar(fraction: number | undefined): string {
  if (fraction === undefined) return "";
  const done = Math.round(fraction * barWidth);
  return `[${"#".repeat(done)}${" ".repeat(barWidth - done)}] `;
}
