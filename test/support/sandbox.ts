// A sandbox as a process of its own on free ports.

import { parse } from "lossless-json";
import { controlDifferences } from "./control-description.ts";
import type { Target } from "./http.ts";
import { Output } from "./output.ts";
import { environment, plantstore } from "./server.ts";

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

/** A running sandbox, killed when it goes out of scope; call stop() first where its end matters. */
export class RunningSandbox implements Target {
  readonly url: string;
  readonly token: string;
  readonly controlUrl: string;
  /** All lines that the start has printed. */
  readonly lines: readonly string[];
  readonly #child: Bun.Subprocess<"pipe", "pipe", "pipe">;
  readonly #stderr: Output;

  private constructor(
    lines: readonly string[],
    child: Bun.Subprocess<"pipe", "pipe", "pipe">,
    stderr: Output,
  ) {
    const readRow = (label: string) =>
      lines
        .find((line) => line.startsWith(label))
        ?.slice(label.length)
        .trim();
    this.lines = lines;
    this.url = lines[0] ?? "";
    this.token = readRow("Token") ?? "";
    this.controlUrl = readRow("Control") ?? "";
    this.#child = child;
    this.#stderr = stderr;
  }

  /** Starts a sandbox, and waits until it is ready. */
  static async start({
    args = [],
    env = {},
    cwd,
    program = plantstore,
  }: SandboxSetup = {}): Promise<RunningSandbox> {
    const child = Bun.spawn([program, "sandbox", "--port", "0", "--admin-port", "0", ...args], {
      ...(cwd === undefined ? {} : { cwd }),
      env: environment(env),
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    const stderr = new Output(child.stderr);
    const printed = await new Output(child.stdout)
      .until((text) => (/^Store .*\n/m.test(text) ? text : undefined))
      .catch(async () => {
        throw new Error(`The sandbox did not start: ${await stderr.ended}`);
      });
    return new RunningSandbox(printed.trimEnd().split("\n"), child, stderr);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Everything on standard error so far that matches. */
  logged<T>(find: (text: string) => T | undefined): Promise<T> {
    return this.#stderr.until(find);
  }

  /** Sends a request to control; a body is sent as JSON. Rejects if the response is not as the document of control has it. */
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
  async plants(): Promise<readonly { readonly id: bigint; readonly name: string; readonly tag?: string }[]> {
    const { json } = await this.control("GET", "/plants");
    return (json as { plants: { id: bigint; name: string; tag?: string }[] }).plants;
  }

  /** Closes its standard input. */
  async endInput(): Promise<void> {
    await this.#child.stdin.end();
  }

  /** Waits for its end; the exit code, and the text on standard error. */
  async ended(): Promise<{ exitCode: number | null; stderr: string }> {
    await this.#child.exited;
    return { exitCode: this.#child.exitCode, stderr: await this.#stderr.ended };
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<{ exitCode: number | null; stderr: string }> {
    this.#child.kill(signal);
    return this.ended();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGKILL");
  }
}

function parseNumber(text: string): bigint | number {
  return /^-?\d+$/.test(text) ? BigInt(text) : Number(text);
}
