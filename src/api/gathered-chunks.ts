// A body that is read chunk by chunk, gathered within limits.

/** In one buffer that doubles: kept as they come, a megabyte in chunks of one byte would hold 100. */
export class GatheredChunks {
  readonly #bytesMax: number;
  readonly #setAside: (bytes: number, ofThisBody: number) => boolean;
  #buffer = new Uint8Array();
  #bytes = 0;
  #isStopped = false;

  /** @param setAside asks for memory beside that which this body has already. */
  constructor(bytesMax: number, setAside: (bytes: number, ofThisBody: number) => boolean) {
    this.#bytesMax = bytesMax;
    this.#setAside = setAside;
  }

  get body(): Uint8Array {
    return this.#buffer.subarray(0, this.#bytes);
  }

  get bytesSetAside(): number {
    return this.#buffer.length;
  }

  /** Reads to the end, or to where the body is over a limit. */
  async gather(stream: ReadableStream<Uint8Array>): Promise<"whole" | "tooLarge" | "noRoom"> {
    for await (const chunk of stream) {
      if (this.#isStopped) break;
      const needed = this.#bytes + chunk.length;
      if (needed > this.#bytesMax) return "tooLarge";
      if (needed > this.#buffer.length && !this.#grow(needed)) return "noRoom";
      this.#buffer.set(chunk, this.#bytes);
      this.#bytes = needed;
    }
    return "whole";
  }

  /** Takes nothing more: nobody waits for it. */
  stop(): void {
    this.#isStopped = true;
  }

  #grow(needed: number): boolean {
    const size = Math.min(this.#bytesMax, Math.max(4_096, 2 * needed));
    if (!this.#setAside(size - this.#buffer.length, this.#buffer.length)) return false;
    const larger = new Uint8Array(size);
    larger.set(this.body);
    this.#buffer = larger;
    return true;
  }
}
