// The output of a process, read while it runs.

export class Output {
  /** The whole text, once the process has ended. */
  readonly ended: Promise<string>;
  #text = "";
  #hasEnded = false;
  #news = Promise.withResolvers<void>();

  constructor(stream: ReadableStream<Uint8Array>) {
    this.ended = this.#gather(stream);
  }

  /** Waits until `find` returns a value for the text so far, and returns it. Rejects if the process ends first. */
  async until<T>(find: (text: string) => T | undefined): Promise<T> {
    for (;;) {
      const found = find(this.#text);
      if (found !== undefined) return found;
      if (this.#hasEnded) throw new Error(`The process ended without it: ${this.#text}`);
      await this.#news.promise;
    }
  }

  async #gather(stream: ReadableStream<Uint8Array>): Promise<string> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      this.#text += decoder.decode(chunk, { stream: true });
      this.#tellNews();
    }
    this.#hasEnded = true;
    this.#tellNews();
    return this.#text;
  }

  #tellNews(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers<void>();
  }
}

/** A line of a server's log in JSON. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The lines of a log, those that are whole. */
export function logLines(text: string): LogLine[] {
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  return whole
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
