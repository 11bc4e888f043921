// Refuses servers that do not bind the password to the TLS connection, for channel_binding=require.
// node-postgres uses SCRAM-SHA-256-PLUS where the server offers it, and lets a server that does
// not, such as one in the middle, choose a weaker way.

import type { Duplex } from "node:stream";
import { Client, type ClientConfig } from "./driver.ts";

/** The messages by which a server lets a client in, or asks it for a password. */
const messages = [
  "authenticationOk",
  "authenticationCleartextPassword",
  "authenticationMD5Password",
] as const;

export class BoundClient extends Client {
  constructor(config?: ClientConfig) {
    super(config);
    const { connection } = this as unknown as { readonly connection: ClientConnection };
    let isBound = false;
    const refuse = (what: string) => {
      connection.emit(
        "error",
        new Error(`channel_binding=require, but the server ${what} SCRAM-SHA-256-PLUS`),
      );
      // The client's own listener would send the password.
      connection.stream.destroy();
    };
    connection.prependListener("authenticationSASL", ({ mechanisms }: { readonly mechanisms: string[] }) => {
      isBound = mechanisms.includes("SCRAM-SHA-256-PLUS");
      if (!isBound) refuse("offers no");
    });
    for (const message of messages)
      connection.prependListener(message, () => {
        if (!isBound) refuse("does not ask for");
      });
  }
}

interface ClientConnection extends NodeJS.EventEmitter {
  readonly stream: Duplex;
}
