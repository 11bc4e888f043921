// A sandbox, its control interface, and its log of requests.

import { Ajv2020 } from "ajv/dist/2020.js";
import { parse } from "lossless-json";
import type { RecordedRequest } from "../../packages/sandbox/src/index.ts";
import type { Contract } from "../../src/core/contract/contract.ts";
import { controlDocument } from "../../src/sandbox/control-document.ts";
import { plantStore } from "./contracts.ts";
import type { Target } from "./http.ts";
import { InProcessCommand } from "./in-process-command.ts";
import { environment, plantstore, type RunningProgram, resultOf, startProgram } from "./server.ts";

export interface SandboxSetup {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  /** The folder that it is started in. */
  readonly cwd?: string;
  /** The command to run instead of `plantstore`. */
  readonly program?: string;
  /**
   * That of `args`, which its responses are checked against; the Plant Store's if there is none.
   */
  readonly contract?: Contract | undefined;
}

/** A response of control. */
export interface ControlAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body, in which integers are bigints; undefined if it is empty. */
  readonly json: unknown;
}

const sandboxArgs = ["sandbox", "--port", "0", "--admin-port", "0"];

/** A running sandbox, killed when it goes out of scope; call stop() first where its end matters. */
export class RunningSandbox implements Target {
  readonly url: string;
  readonly token: string;
  readonly controlUrl: string;
  /** All lines that the start has printed. */
  readonly lines: readonly string[];
  readonly #program: RunningProgram;

  readonly #contract: Contract;

  private constructor(lines: readonly string[], program: RunningProgram, contract: Contract) {
    const readRow = (label: string) =>
      lines
        .find((line) => line.startsWith(label))
        ?.slice(label.length)
        .trim();
    this.lines = lines;
    this.url = lines[0] ?? "";
    this.token = readRow("Token") ?? "";
    this.controlUrl = readRow("Control") ?? "";
    this.#program = program;
    this.#contract = contract;
  }

  /** Starts a sandbox in the process of the test, and waits until it is ready. */
  static startInProcess({
    args = [],
    env = {},
    contract,
  }: Pick<SandboxSetup, "args" | "env" | "contract"> = {}): Promise<RunningSandbox> {
    return RunningSandbox.#started(
      new InProcessCommand([...sandboxArgs, ...args], environment(env)),
      contract,
    );
  }

  /** Starts a sandbox in a new process, and waits until it is ready. */
  static async start({
    args = [],
    env = {},
    cwd,
    program = plantstore,
    contract,
  }: SandboxSetup = {}): Promise<RunningSandbox> {
    return RunningSandbox.#started(
      startProgram([program, ...sandboxArgs, ...args], {
        ...(cwd === undefined ? {} : { cwd }),
        env: environment(env),
      }),
      contract,
    );
  }

  static async #started(program: RunningProgram, contract = plantStore): Promise<RunningSandbox> {
    const printed = await program.stdout
      .until((text) => (/^Store .*\n/m.test(text) ? text : undefined))
      .catch(async () => {
        throw new Error(`The sandbox did not start: ${await program.stderr.ended}`);
      });
    return new RunningSandbox(printed.trimEnd().split("\n"), program, contract);
  }

  /** The process of the sandbox, which is that of the test if it was started there. */
  get pid(): number {
    return this.#program.pid ?? process.pid;
  }

  /** Everything on standard error so far that matches. */
  logged<T>(find: (text: string) => T | undefined): Promise<T> {
    return this.#program.stderr.until(find);
  }

  /**
   * Sends a request to control; a body is sent as JSON. Rejects if the response is not as
   * described.
   */
  async control(
    method: string,
    path = "",
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<ControlAnswer> {
    const response = await fetch(this.controlUrl + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const differences = controlDifferences(this.#contract, method, new URL(response.url).pathname, {
      status: response.status,
      headers: response.headers,
      text,
    });
    if (differences.length > 0) throw new Error(differences.join("\n"));
    const json = text === "" ? undefined : parse(text, null, parseNumber);
    return { status: response.status, headers: response.headers, text, json };
  }

  /** The plants that are stored, of the first page. */
  async plants(): Promise<readonly { readonly id: bigint; readonly name: string; readonly tag?: string }[]> {
    const { json } = await this.control("GET", "/plants");
    return (json as { plants: { id: bigint; name: string; tag?: string }[] }).plants;
  }

  /** Closes its standard input. */
  async endInput(): Promise<void> {
    await this.#program.endInput();
  }

  /** Waits for its end. */
  ended() {
    return resultOf(this.#program);
  }

  /** Sends a signal, and waits for the end. */
  stop(signal: NodeJS.Signals = "SIGTERM") {
    this.#program.kill(signal);
    return this.ended();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop(this.#program.pid === undefined ? "SIGTERM" : "SIGKILL");
  }
}

function parseNumber(text: string): bigint | number {
  return /^-?\d+$/.test(text) ? BigInt(text) : Number(text);
}

interface DescribedResponse {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface DescribedOperation {
  readonly responses: Readonly<Record<string, DescribedResponse>>;
}

const { paths, components } = controlDocument(plantStore) as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, DescribedResponse>> };
};

function newSchemas(contract: Contract): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, logger: false, ownProperties: true });
  ajv.addFormat("int64", {
    type: "number",
    validate: (value) => Number.isInteger(value) && Math.abs(value) <= 2 ** 63,
  });
  ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/);
  ajv.addFormat("regex", true);
  ajv.addFormat("uri", (text) => URL.canParse(text));
  return ajv.addSchema({ ...controlDocument(contract), $id: "control:" });
}

const schemas = new Map([[plantStore, newSchemas(plantStore)]]);

function schemasOf(contract: Contract): Ajv2020 {
  const ajv = schemas.get(contract) ?? newSchemas(contract);
  schemas.set(contract, ajv);
  return ajv;
}

/** The operations, each as its method and its path: `GET /sandbox/plants/{id}`. */
export const describedOperations = Object.entries(paths).flatMap(([path, operations]) =>
  Object.keys(operations)
    .filter((method) => method !== "parameters")
    .map((method) => `${method.toUpperCase()} ${path}`),
);

/** The operation of a request; undefined if none is described. */
function findOperation(method: string, path: string): DescribedOperation | undefined {
  const match = Object.entries(paths).find(
    ([template, operations]) =>
      method.toLowerCase() in operations &&
      new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path),
  );
  return match?.[1][method.toLowerCase()];
}

/** The differences of a response from its description. An undescribed request must get an error. */
function controlDifferences(
  contract: Contract,
  method: string,
  path: string,
  { status, headers, text }: { readonly status: number; readonly headers: Headers; readonly text: string },
): string[] {
  const { responses } = findOperation(method, path) ?? { responses: {} };
  const named = responses[status] ?? (status >= 400 ? components.responses.Error : undefined);
  if (named === undefined) return [`${method} ${path}: the status ${status} is not described`];
  const { content } = components.responses[named.$ref?.split("/").at(-1) ?? ""] ?? named;
  const type = headers.get("content-type");
  if (content === undefined)
    return text === "" && type === null ? [] : [`${method} ${path}: a ${status} has a body`];
  const schema = content[type ?? ""]?.schema;
  if (schema === undefined) return [`${method} ${path}: the Content-Type is ${type}`];
  if (type !== "application/json") return [];
  const pointed = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"control:#/'));
  const ajv = schemasOf(contract);
  return ajv.validate(pointed, JSON.parse(text)) ? [] : [`${method} ${path}: ${ajv.errorsText()} in ${text}`];
}

interface Page {
  readonly requests: readonly RecordedRequest[];
  readonly next: number;
  readonly dropped: number;
}

/** One page of the log. */
export async function requestPage(sandbox: RunningSandbox, query = ""): Promise<Page> {
  const { text } = await sandbox.control("GET", `/requests${query}`);
  return JSON.parse(text) as Page;
}

/** The requests of the log, once there are some number of them. */
export async function loggedRequests(
  sandbox: RunningSandbox,
  count: number,
): Promise<readonly RecordedRequest[]> {
  const requests: RecordedRequest[] = [];
  while (requests.length < count) {
    const after = requests.at(-1)?.number ?? 0;
    requests.push(...(await requestPage(sandbox, `?after=${after}&limit=1000&wait=10`)).requests);
  }
  return requests;
}
