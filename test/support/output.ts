// The output of a program, read while it runs.

export class Output {
  /** The whole text, once the program has ended. */
  readonly ended: Promise<string>;
  readonly #ending = Promise.withResolvers<string>();
  #text = "";
  #hasEnded = false;
  #news = Promise.withResolvers<void>();

  /** @param stream undefined where add() and end() are called. */
  constructor(stream?: ReadableStream<Uint8Array>) {
    this.ended = this.#ending.promise;
    if (stream !== undefined) this.#gather(stream).catch(this.#ending.reject);
  }

  add(text: string): void {
    this.#text += text;
    this.#tellNews();
  }

  end(): void {
    this.#hasEnded = true;
    this.#tellNews();
    this.#ending.resolve(this.#text);
  }

  /** Waits until `find` returns a value for the text so far. Rejects if the process ends first. */
  async until<T>(find: (text: string) => T | undefined): Promise<T> {
    for (;;) {
      const found = find(this.#text);
      if (found !== undefined) return found;
      if (this.#hasEnded) throw new Error(`The program ended without it: ${this.#text}`);
      await this.#news.promise;
    }
  }

  async #gather(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) this.add(decoder.decode(chunk, { stream: true }));
    this.end();
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

/**
 * The values of NDJSON. Bun.JSONL.parse would end without an error before a line that is not JSON.
 */
export function jsonLines(text: string): ReturnType<typeof JSON.parse>[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** The lines of a log, those that are whole. */
export function logLines(text: string): LogLine[] {
  return jsonLines(text.slice(0, text.lastIndexOf("\n") + 1));
}

/**
 * A program on a pseudo-terminal: its keyboard is standard input; its other streams are both shown.
 */
export class TerminalProgram {
  readonly output = new Output();
  readonly exited: Promise<number>;
  readonly #terminal: Bun.Terminal | undefined;

  constructor(command: readonly string[], options: { cwd?: string; env?: Record<string, string> } = {}) {
    const decoder = new TextDecoder();
    const child = Bun.spawn([...command], {
      ...options,
      env: { PATH: process.env.PATH ?? "", TERM: "xterm", ...options.env },
      terminal: {
        cols: 80,
        data: (_, bytes) => this.output.add(decoder.decode(bytes, { stream: true })),
        exit: () => this.output.end(),
      },
    });
    this.exited = child.exited;
    this.#terminal = child.terminal;
  }

  type(keys: string): void {
    this.#terminal?.write(keys);
  }
}
