// One kept connection of the generator: a request goes out, the status of its answer comes back. Raw, as fetch costs
// several times what the server spends on a create.

const headEnd = Buffer.from("\r\n\r\n");
const lengthField = /\r\ncontent-length: *(\d+)/i;

export class Connection {
  #socket: Bun.Socket<Connection> | undefined;
  #answer: PromiseWithResolvers<number> | undefined;
  #unsent: Uint8Array = new Uint8Array();
  #received: Buffer<ArrayBufferLike> = Buffer.alloc(0);

  private constructor() {}

  static async open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url);
    const data = new Connection();
    data.#socket = await Bun.connect({ hostname, port: Number(port), data, socket: handlers });
    return data;
  }

  /**
   * Sends a request and resolves with the status of its answer; to be called when the one before is answered. Rejects
   * if the connection ends first.
   */
  send(request: Buffer): Promise<number> {
    this.#answer = Promise.withResolvers();
    const written = this.#write(request);
    if (written < request.length) this.#unsent = Uint8Array.from(request.subarray(written));
    return this.#answer.promise;
  }

  /** Sends what the kernel did not take before. */
  drained(): void {
    if (this.#unsent.length > 0) this.#unsent = this.#unsent.subarray(this.#write(this.#unsent));
  }

  received(chunk: Buffer): void {
    const bytes = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const status = statusOfWhole(bytes);
    // The chunk's memory is Bun's again after this call.
    this.#received = status === undefined ? Buffer.from(bytes) : Buffer.alloc(0);
    if (status !== undefined) this.#answer?.resolve(status);
  }

  ended(): void {
    this.#socket = undefined;
    this.#answer?.reject(new Error("the server ended a connection"));
  }

  /** How many bytes the kernel took. */
  #write(bytes: Uint8Array): number {
    if (this.#socket === undefined) this.ended();
    return Math.max(0, this.#socket?.write(bytes) ?? 0);
  }
}

const handlers: Bun.SocketHandler<Connection> = {
  data: ({ data: connection }, chunk) => connection.received(chunk),
  drain: ({ data: connection }) => connection.drained(),
  close: ({ data: connection }) => connection.ended(),
};

/** The status of an answer that is there to its end. */
function statusOfWhole(bytes: Buffer): number | undefined {
  const end = bytes.indexOf(headEnd);
  if (end === -1) return undefined;
  const head = bytes.toString("latin1", 0, end);
  const length = Number(lengthField.exec(head)?.[1] ?? 0);
  return bytes.length < end + headEnd.length + length ? undefined : Number(head.slice(9, 12));
}
