// Node's HTTP parser, as an oracle that is independent of Bun's.

import { RawConnection, rawAnswers } from "../../support/raw-connection.ts";

/** A request as Node parses it. */
export interface Understood {
  readonly method: string;
  readonly url: string;
  readonly authorization?: string;
  readonly mediaType?: { readonly essence: string; readonly charset?: string };
  /** In base64. */
  readonly body: string;
}

/** Starts Node's parser in a process of its own, killed out of scope. */
export async function startNodeParser() {
  const program = new URL("parser-on-node.mjs", import.meta.url).pathname;
  const child = Bun.spawn(["node", program], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const { value } = await child.stdout.getReader().read();
  const url = new TextDecoder().decode(value).trim();
  return {
    /** The first request in the bytes; undefined if they do not start with a complete one. */
    async understand(bytes: string): Promise<Understood | undefined> {
      const connection = await RawConnection.open(url);
      connection.write(bytes);
      // Node responds to a complete request, and closes the connection otherwise.
      connection.end();
      const [answer] = rawAnswers(await connection.closed).answers;
      return answer?.status === 200 ? JSON.parse(answer.body) : undefined;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      child.kill();
      await child.exited;
    },
  };
}
