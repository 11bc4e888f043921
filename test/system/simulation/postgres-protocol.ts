// PostgreSQL's wire protocol from the server's side, as much of it as the engine uses (manual,
// "Message Formats").

/** What a client asks for: a statement with its values, once it is to be executed. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
  /**
   * The statement ahead of it in one transaction, which sets what that transaction relies on, with
   * the values in the places of its parameters.
   */
  readonly settings: string | undefined;
}

/** A parameter in the text format, or an array in the binary format. */
type Value = string | null | readonly (string | null)[];

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
  #pipeline: Bound[] = [];
  /** The statements that were parsed, by name; the unnamed one's name is empty. */
  readonly #statements = new Map<string, string>();

  /**
   * What became complete with these bytes: the start, statements, and the goodbye; or a request to
   * cancel.
   */
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
        return { sql: cString(body, 0), values: [], settings: undefined };
      case "P": {
        const [name, sql] = [cString(body, 0), cString(body, body.indexOf(0) + 1)];
        if (name !== "" && this.#statements.has(name)) throw new Error(`${name} was parsed twice`);
        this.#statements.set(name, sql);
        return undefined;
      }
      case "B": {
        const sql = this.#statements.get(cString(body, body.indexOf(0) + 1));
        if (sql === undefined) throw new Error("A Bind of a statement that was not parsed");
        this.#pipeline.push({ sql, values: parseBind(body) });
        return undefined;
      }
      case "S": {
        const [first, last = first] = this.#pipeline.splice(0);
        if (first === undefined || last === undefined) throw new Error("A Sync without a statement");
        return { ...last, settings: last === first ? undefined : withValues(first) };
      }
      default:
        // Describe and Execute belong to the Sync that follows.
        return undefined;
    }
  }
}

/** A statement with the values of a Bind. */
type Bound = Pick<Statement, "sql" | "values">;

function withValues({ sql, values }: Bound): string {
  return sql.replace(/\$(\d)/g, (_, place) => `'${values[place - 1]}'`);
}

function cString(bytes: Buffer, start: number): string {
  return bytes.toString("utf8", start, bytes.indexOf(0, start));
}

/** The values of a Bind. */
function parseBind(body: Buffer): Value[] {
  let at = body.indexOf(0) + 1;
  at = body.indexOf(0, at) + 1;
  const formats = Array.from({ length: body.readUInt16BE(at) }, (_, index) =>
    body.readUInt16BE(at + 2 + 2 * index),
  );
  at += 2 + 2 * formats.length;
  const { elements, end } = parseElements(body, at + 2, body.readUInt16BE(at));
  if (end > body.length) throw new Error("A Bind that ends too early");
  return elements.map((element, index) => {
    if (element === null) return null;
    return formats[index] === 1 ? parseArray(element) : element.toString();
  });
}

const arrayHeaderBytes = 20;
const [int8Oid, int4Oid] = [20, 23];

function parseArray(bytes: Buffer): (string | null)[] {
  const oid = bytes.readInt32BE(8);
  const { elements } = parseElements(bytes, arrayHeaderBytes, bytes.readInt32BE(12));
  return elements.map((element) => {
    if (element === null) return null;
    if (oid === int8Oid) return String(element.readBigInt64BE());
    return oid === int4Oid ? String(element.readInt32BE()) : element.toString();
  });
}

/** Elements that each follow their length, which is -1 for a null. */
function parseElements(
  bytes: Buffer,
  start: number,
  count: number,
): { elements: (Buffer | null)[]; end: number } {
  const elements: (Buffer | null)[] = [];
  let end = start;
  for (let index = 0; index < count; index++) {
    const length = bytes.readInt32BE(end);
    end += 4;
    elements.push(length === -1 ? null : bytes.subarray(end, end + length));
    end += Math.max(0, length);
  }
  return { elements, end };
}

/** What a server says to a client that it lets in. */
export function welcome(backend: number): Buffer {
  return Buffer.concat([message("R", int32(0)), message("K", int32(backend), int32(1)), ready()]);
}

/** The row for the settings of a transaction: three that are read, and four that are set. */
const settingsRow = ["on", "on", null, "5s", "1s", "on", "warning"];

/**
 * The response to a statement. The client ignores ParseComplete and BindComplete where it has sent
 * no Parse or Bind.
 */
export function encodeResult({ columns, rows }: Rows, { settings }: Statement): Buffer {
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
  const start = [message("1"), message("2")];
  return Buffer.concat([
    ...(settings === undefined ? [] : [...start, ...dataRows([settingsRow])]),
    ...start,
    message("T", int16(fields.length), ...fields),
    ...dataRows(rows),
    ready(),
  ]);
}

function dataRows(rows: Rows["rows"]): Buffer[] {
  return [
    ...rows.map((row) => message("D", int16(row.length), ...row.map(valueBytes))),
    message("C", text(`SELECT ${rows.length}`)),
  ];
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
