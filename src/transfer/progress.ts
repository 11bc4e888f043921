// Shows the progress of an import or an export on the terminal of standard error.

const redrawMs = 100;
const clearLine = "\r\x1b[K";

interface ProgressStream {
  readonly isTTY: boolean;
  write(text: string): unknown;
}

/** Redraws one line of a terminal. */
export class Progress implements Disposable {
  readonly #stream: ProgressStream | undefined;
  readonly #start = performance.now();
  #last = this.#start;

  /** @param stream Only a terminal shows progress, and undefined none. */
  constructor(stream: ProgressStream | undefined) {
    this.#stream = stream?.isTTY ? stream : undefined;
  }

  /** @param fraction the completed part, from 0 to 1; undefined if the whole is not known. */
  update(plants: number, fraction: number | undefined): void {
    const now = performance.now();
    if (this.#stream === undefined || now - this.#last < redrawMs) return;
    this.#last = now;
    this.#stream.write(clearLine + progressText(plants, fraction, (now - this.#start) / 1_000));
  }

  /** Clears the line. */
  [Symbol.dispose](): void {
    this.#stream?.write(clearLine);
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
