// A sandbox, its control interface, and its log of requests.

import { parse } from "lossless-json";
import type { RecordedRequest } from "../../packages/sandbox/src/index.ts";
import { controlDifferences } from "./control-description.ts";
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

  private constructor(lines: readonly string[], program: RunningProgram) {
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
  }

  /** Starts a sandbox in the process of the test, and waits until it is ready. */
  static startInProcess({
    args = [],
    env = {},
  }: Pick<SandboxSetup, "args" | "env"> = {}): Promise<RunningSandbox> {
    return RunningSandbox.#started(new InProcessCommand([...sandboxArgs, ...args], environment(env)));
  }

  /** Starts a sandbox in a new process, and waits until it is ready. */
  static async start({
    args = [],
    env = {},
    cwd,
    program = plantstore,
  }: SandboxSetup = {}): Promise<RunningSandbox> {
    return RunningSandbox.#started(
      startProgram([program, ...sandboxArgs, ...args], {
        ...(cwd === undefined ? {} : { cwd }),
        env: environment(env),
      }),
    );
  }

  static async #started(program: RunningProgram): Promise<RunningSandbox> {
    const printed = await program.stdout
      .until((text) => (/^Store .*\n/m.test(text) ? text : undefined))
      .catch(async () => {
        throw new Error(`The sandbox did not start: ${await program.stderr.ended}`);
      });
    return new RunningSandbox(printed.trimEnd().split("\n"), program);
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
    const differences = controlDifferences(method, new URL(response.url).pathname, {
      status: response.status,
      headers: response.headers,
      text,
    });
    if (differences.length > 0) throw new Error(differences.join("\n"));
    const json = text === "" ? undefined : parse(text, null, parseNumber);
    return { status: response.status, headers: response.headers, text, json };
  }

  /** The plants that are stored, of the first page. */
  async resources(): Promise<
    readonly { readonly id: bigint; readonly name: string; readonly tag?: string }[]
  > {
    const { json } = await this.control("GET", "/plants");
    return (json as { resources: { id: bigint; name: string; tag?: string }[] }).resources;
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
