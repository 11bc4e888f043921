// PostgreSQL's wire protocol from the server's side, as much of it as the engine uses (manual, "Message Formats").

/** What a client asks for: a statement with its values, once it is to be executed. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly (string | null)[];
  /** Whether it came by itself, without Parse and Bind. */
  readonly isSimple: boolean;
  /** The statement ahead of it in one transaction, which sets what that transaction relies on. */
  readonly settings: string | undefined;
}

/** Asks for the end of what a backend does. */
export interface CancelRequest {
  readonly backend: number;
}

const cancelRequestCode = 80_877_102;

export interface Rows {
  /** The columns' names, those of the type int8 with an asterisk in front. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
}

/** The messages of a client, taken from a stream of bytes. */
export class Frontend {
  #unread = Buffer.alloc(0);
  #started = false;
  /** What came since the last Sync. */
  #pipeline: { sql: string; values: (string | null)[] }[] = [];

  /** What became complete with these bytes: the start, statements, and the goodbye; or a request to cancel. */
  *read(bytes: Uint8Array): Generator<"startup" | "terminate" | Statement | CancelRequest> {
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

  #understand(type: string, body: Buffer): "startup" | "terminate" | Statement | CancelRequest | undefined {
    switch (type) {
      case "startup":
        if (body.readUInt32BE(0) === cancelRequestCode) return { backend: body.readUInt32BE(4) };
        this.#started = true;
        return "startup";
      case "X":
        return "terminate";
      case "Q":
        return {
          sql: body.toString("utf8", 0, body.length - 1),
          values: [],
          isSimple: true,
          settings: undefined,
        };
      case "P":
        this.#pipeline.push({ sql: body.toString("utf8", 1, body.indexOf(0, 1)), values: [] });
        return undefined;
      case "B":
        this.#pipeline[this.#pipeline.length - 1] = {
          sql: this.#pipeline.at(-1)?.sql ?? "",
          values: parseBind(body),
        };
        return undefined;
      case "S": {
        const [first, last = first] = this.#pipeline.splice(0);
        if (first === undefined || last === undefined) throw new Error("A Sync without a statement");
        return { ...last, isSimple: false, settings: last === first ? undefined : first.sql };
      }
      default:
        // Describe and Execute belong to the Sync that follows.
        return undefined;
    }
  }
}

/** The values of a Bind of the unnamed statement. */
function parseBind(body: Buffer): (string | null)[] {
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
export function welcome(backend: number): Buffer {
  return Buffer.concat([message("R", int32(0)), message("K", int32(backend), int32(1)), ready()]);
}

/** The answer to the settings of a transaction: three that are set, and two that are read. */
function settingsResult(): Buffer {
  const row = ["5s", "1s", "on", "on", "on"].map(valueBytes);
  return Buffer.concat([
    message("1"),
    message("2"),
    message("D", int16(row.length), ...row),
    message("C", text("SELECT 1")),
  ]);
}

/** The answer to a statement; to a simple one without the acknowledgements of its parts. */
export function encodeResult({ columns, rows }: Rows, { isSimple, settings }: Statement): Buffer {
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
    ...(settings === undefined ? [] : [settingsResult()]),
    ...(isSimple ? [] : [message("1"), message("2")]),
    message("T", int16(fields.length), ...fields),
    ...rows.map((row) => message("D", int16(row.length), ...row.map(valueBytes))),
    message("C", text(`SELECT ${rows.length}`)),
    ready(),
  ]);
}

/** An error that ends the statement, with its SQLSTATE. */
export function encodeError(state: string): Buffer {
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
