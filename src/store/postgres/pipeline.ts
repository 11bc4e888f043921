// Sends statements with one Sync at their end, as a query of node-postgres: they take one round
// trip, and are one transaction if none is under way (PostgreSQL's manual, "Pipelining").

import { type Connection, Query, type QueryConfig, type Submittable, types } from "./driver.ts";

/** Members of node-postgres's Connection that its types lack, or have in another way. */
interface PipelineConnection {
  readonly stream: Connection["stream"];
  /** The SQL of what is prepared, by its name: the client's own record. */
  readonly parsedStatements: Readonly<Record<string, string>>;
  parse(statement: { readonly name: string; readonly text: string }): void;
  bind(values: { readonly statement: string; readonly values: readonly (string | null)[] }): void;
  describe(portal: { readonly type: "P" }): void;
  execute(): void;
  sync(): void;
}

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

interface RowDescription {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
}

const noColumns: readonly Column[] = [];

/**
 * The columns of what is prepared on each connection, by its name: they stay the same, so that they
 * are described only once. Each connection has one parser for a type.
 */
const columnsOf = new WeakMap<object, Map<string, readonly Column[]>>();

/** On a connection that is pipelined, node-postgres takes only queries of its own class. */
const QueryClass = Query as unknown as new (text: string) => object;

export class Pipeline extends QueryClass implements Submittable {
  /** Resolves with the rows of each statement. */
  readonly done: Promise<object[][]>;
  /** The statement that is answered next: by these the client records what is prepared. */
  name: string | undefined;
  text: string | undefined;
  readonly #statements: readonly QueryConfig[];
  readonly #settle = Promise.withResolvers<object[][]>();
  readonly #results: object[][] = [];
  #known: Map<string, readonly Column[]> = new Map();
  #columns = noColumns;
  #rows: object[] = [];

  /** @param statements whose values are scalars. */
  constructor(statements: readonly QueryConfig[]) {
    super("");
    this.#statements = statements;
    this.done = this.#settle.promise;
  }

  submit(sent: Connection): void {
    const connection = sent as unknown as PipelineConnection;
    this.#known = columnsOf.get(sent) ?? this.#known;
    columnsOf.set(sent, this.#known);
    const parsed = new Set<string>();
    // One write for all: a read took 0.6 of the processor time.
    connection.stream.cork();
    for (const { name = "", text, values = [] } of this.#statements) {
      if (name === "" || (connection.parsedStatements[name] === undefined && !parsed.has(name)))
        connection.parse({ name, text });
      if (name !== "") parsed.add(name);
      connection.bind({ statement: name, values: values.map(toParameter) });
      if (!this.#known.has(name)) connection.describe({ type: "P" });
      connection.execute();
    }
    connection.sync();
    connection.stream.uncork();
    this.#expectNext();
  }

  handleRowDescription({ fields }: RowDescription): void {
    const parsers = this.#statements[this.#results.length]?.types ?? types;
    this.#columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: parsers.getTypeParser(dataTypeID, "text"),
    }));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const row: Record<string, unknown> = {};
    for (let index = 0; index < fields.length; index++) {
      const { name, parse } = this.#columns[index] as Column;
      const text = fields[index] as string | null;
      row[name] = text === null ? null : parse(text);
    }
    this.#rows.push(row);
  }

  handleCommandComplete(): void {
    if (this.name !== undefined) this.#known.set(this.name, this.#columns);
    this.#results.push(this.#rows);
    this.#rows = [];
    this.#expectNext();
  }

  /** In place of handleCommandComplete, for a text without a statement. */
  handleEmptyQuery(): void {
    this.handleCommandComplete();
  }

  handleReadyForQuery(): void {
    this.#settle.resolve(this.#results);
  }

  /** The server leaves out the statements that follow. */
  handleError(error: Error): void {
    this.#settle.reject(error);
  }

  #expectNext(): void {
    const next = this.#statements[this.#results.length];
    this.name = next?.name;
    this.text = next?.text;
    this.#columns = (this.name !== undefined && this.#known.get(this.name)) || noColumns;
  }
}

function toParameter(value: unknown): string | null {
  return value == null ? null : String(value);
}
