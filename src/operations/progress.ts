// Progress of an import or an export, on standard error.

const barEveryMs = 100;
const linesEveryMs = 5_000;
const clearLine = "\r\x1b[K";

interface ProgressStream {
  readonly isTTY: boolean;
  write(text: string): unknown;
}

/** Redraws one line of a terminal, or prints a line every 5 seconds; nothing without a stream. */
export class Progress implements Disposable {
  readonly #stream: ProgressStream | undefined;
  readonly #start = performance.now();
  #last = this.#start;

  constructor(stream: ProgressStream | undefined) {
    this.#stream = stream;
  }

  /** @param fraction the completed part, from 0 to 1; undefined if the whole is not known. */
  update(plants: number, fraction: number | undefined): void {
    const stream = this.#stream;
    const now = performance.now();
    if (stream === undefined || now - this.#last < (stream.isTTY ? barEveryMs : linesEveryMs)) return;
    this.#last = now;
    const text = progressText(plants, fraction, (now - this.#start) / 1_000);
    stream.write(stream.isTTY ? `${clearLine}${text}` : `${text}\n`);
  }

  /** Clears the line. */
  [Symbol.dispose](): void {
    if (this.#stream?.isTTY) this.#stream.write(clearLine);
  }
}

/** Such as "1,200,000 plants, 310,000 a second, 42 %, 5 s left". */
export function progressText(plants: number, fraction: number | undefined, seconds: number): string {
  const rate = Math.round(plants / Math.max(seconds, 0.001));
  const text = `${plants.toLocaleString("en")} plants, ${rate.toLocaleString("en")} a second`;
  if (fraction === undefined || fraction === 0) return text;
  const left = Math.ceil((seconds / fraction) * (1 - fraction));
  return `${text}, ${Math.floor(fraction * 100)} %, ${left} s left`;
}
