// The bytes of a create, with an id that is written into them: a request is not put together anew for each plant.

/** As many digits as all ids have, see firstIds. */
const placeholder = "0".repeat(13);

const digitZero = 0x30;

export class CreateRequest {
  readonly #bytes: Buffer;
  /** Where the digits of the id are: in the id itself, and in the name. */
  readonly #places: readonly number[];

  constructor(url: string, token: string) {
    const body = `{"id": ${placeholder}, "name": "Monstera deliciosa ${placeholder}", "tag": "tropical"}`;
    const head = [
      "POST /plants HTTP/1.1",
      `Host: ${new URL(url).host}`,
      `Authorization: Bearer ${token}`,
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
    ];
    this.#bytes = Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
    const first = this.#bytes.indexOf(placeholder);
    this.#places = [first, this.#bytes.indexOf(placeholder, first + placeholder.length)];
  }

  /** The request for one id. The bytes hold until the next call. */
  of(id: number): Buffer {
    let left = id;
    for (let digit = placeholder.length - 1; digit >= 0; digit--) {
      const byte = digitZero + (left % 10);
      for (const place of this.#places) this.#bytes[place + digit] = byte;
      left = Math.trunc(left / 10);
    }
    return this.#bytes;
  }
}
