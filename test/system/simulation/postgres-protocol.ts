// PostgreSQL's wire protocol from the server's side, as much of it as the engine uses (manual,
// "Message Formats").

/** What a client asks for: a statement with its values, once it is to be executed. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
  /** Whether it came by itself, without Parse and Bind. */
  readonly isSimple: boolean;
  /** Whether it was parsed, and not prepared before. */
  readonly isParsed: boolean;
  /** The statement ahead of it in one transaction, which sets what that transaction relies on. */
  readonly settings: Settings | undefined;
}

interface Settings {
  /** With the values in the places of its parameters. */
  readonly sql: string;
  readonly isParsed: boolean;
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
  readonly #statements = new Map<string, { readonly sql: string; isBound: boolean }>();

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
        return {
          sql: body.toString("utf8", 0, body.length - 1),
          values: [],
          isSimple: true,
          isParsed: false,
          settings: undefined,
        };
      case "P": {
        const [name, sql] = [cString(body, 0), cString(body, body.indexOf(0) + 1)];
        if (name !== "" && this.#statements.has(name)) throw new Error(`${name} was parsed twice`);
        this.#statements.set(name, { sql, isBound: false });
        return undefined;
      }
      case "B": {
        const statement = this.#statements.get(cString(body, body.indexOf(0) + 1));
        if (statement === undefined) throw new Error("A Bind of a statement that was not parsed");
        this.#pipeline.push({ sql: statement.sql, values: parseBind(body), isParsed: !statement.isBound });
        statement.isBound = true;
        return undefined;
      }
      case "S": {
        const [first, last = first] = this.#pipeline.splice(0);
        if (first === undefined || last === undefined) throw new Error("A Sync without a statement");
        return { ...last, isSimple: false, settings: last === first ? undefined : toSettings(first) };
      }
      default:
        // Describe and Execute belong to the Sync that follows.
        return undefined;
    }
  }
}

/** A statement with the values of a Bind. */
type Bound = Pick<Statement, "sql" | "values" | "isParsed">;

function toSettings({ sql, values, isParsed }: Bound): Settings {
  return { sql: sql.replace(/\$(\d)/g, (_, place) => `'${values[place - 1]}'`), isParsed };
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

/** The answer to the settings of a transaction: three that are set, and two that are read. */
function settingsResult({ isParsed }: Settings): Buffer {
  const row = ["5s", "1s", "on", "on", "on"].map(valueBytes);
  return Buffer.concat([
    ...(isParsed ? [message("1")] : []),
    message("2"),
    message("D", int16(row.length), ...row),
    message("C", text("SELECT 1")),
  ]);
}

/** The answer to a statement; to a simple one without the acknowledgements of its parts. */
export function encodeResult({ columns, rows }: Rows, { isSimple, isParsed, settings }: Statement): Buffer {
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
    ...(settings === undefined ? [] : [settingsResult(settings)]),
    ...(isParsed ? [message("1")] : []),
    ...(isSimple ? [] : [message("2")]),
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
