// PostgreSQL's wire protocol from the server's side, as much of it as the engine uses (manual, "Message Formats").

/** What a client asks for: a statement with its values, once it is to be executed. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly (string | null)[];
}

export interface Rows {
  /** The columns' names, those of the type int8 with an asterisk in front. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
}

/** The messages of a client, taken from a stream of bytes. */
export class Frontend {
  #unread = Buffer.alloc(0);
  #started = false;
  #sql = "";
  #values: (string | null)[] = [];

  /** What became complete with these bytes: the start, statements, and the goodbye. */
  *read(bytes: Uint8Array): Generator<"startup" | "terminate" | Statement> {
    this.#unread = Buffer.concat([this.#unread, bytes]);
    for (;;) {
      const typeBytes = this.#started ? 1 : 0;
      if (this.#unread.length < typeBytes + 4) return;
      const end = typeBytes + this.#unread.readUInt32BE(typeBytes);
      if (this.#unread.length < end) return;
      const type = this.#started ? String.fromCharCode(this.#unread[0] ?? 0) : "startup";
      const body = this.#unread.subarray(typeBytes + 4, end);
      this.#unread = this.#unread.subarray(end);
      const message = this.#understand(type, body);
      if (message !== undefined) yield message;
    }
  }

  #understand(type: string, body: Buffer): "startup" | "terminate" | Statement | undefined {
    switch (type) {
      case "startup":
        this.#started = true;
        return "startup";
      case "X":
        return "terminate";
      case "Q":
        return { sql: body.toString("utf8", 0, body.length - 1), values: [] };
      case "P":
        this.#sql = body.toString("utf8", 1, body.indexOf(0, 1));
        this.#values = [];
        return undefined;
      case "B":
        this.#values = valuesOf(body);
        return undefined;
      case "S":
        return { sql: this.#sql, values: this.#values };
      default:
        // Describe and Execute belong to the Sync that follows.
        return undefined;
    }
  }
}

/** The values of a Bind of the unnamed statement. */
function valuesOf(body: Buffer): (string | null)[] {
  let at = body.indexOf(0) + 1;
  at = body.indexOf(0, at) + 1;
  at += 2 + 2 * body.readUInt16BE(at);
  const count = body.readUInt16BE(at);
  at += 2;
  const values: (string | null)[] = [];
  for (let index = 0; index < count; index++) {
    const length = body.readInt32BE(at);
    at += 4;
    values.push(length === -1 ? null : body.toString("utf8", at, at + length));
    at += Math.max(0, length);
  }
  return values;
}

/** What a server says to a client that it lets in. */
export function welcome(): Buffer {
  return Buffer.concat([message("R", int32(0)), message("K", int32(1), int32(1)), ready()]);
}

/** The answer to a statement; to a simple one without the acknowledgements of its parts. */
export function resultOf({ columns, rows }: Rows, isSimple: boolean): Buffer {
  const fields = columns.map((column) => {
    const isInt8 = column.startsWith("*");
    const type = Buffer.concat([
      int32(0),
      int16(0),
      int32(isInt8 ? 20 : 25),
      int16(isInt8 ? 8 : -1),
      int32(-1),
      int16(0),
    ]);
    return Buffer.concat([text(column.replace("*", "")), type]);
  });
  return Buffer.concat([
    ...(isSimple ? [] : [message("1"), message("2")]),
    message("T", int16(fields.length), ...fields),
    ...rows.map((row) => message("D", int16(row.length), ...row.map(valueBytes))),
    message("C", text(`SELECT ${rows.length}`)),
    ready(),
  ]);
}

/** An error that ends the statement, with its SQLSTATE. */
export function errorOf(state: string): Buffer {
  const fields = [`SERROR`, `VERROR`, `C${state}`, "Msimulated"].map(text);
  return Buffer.concat([message("E", ...fields, Buffer.of(0)), ready()]);
}

function ready(): Buffer {
  return message("Z", Buffer.from("I"));
}

function message(type: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

function valueBytes(value: string | null): Buffer {
  if (value === null) return int32(-1);
  const bytes = Buffer.from(value);
  return Buffer.concat([int32(bytes.length), bytes]);
}

function text(value: string): Buffer {
  return Buffer.from(`${value}\0`);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
