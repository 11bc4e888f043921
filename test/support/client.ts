// A real server with a token, and the errors of a client.

import { PlantStoreClient, type PlantStoreClientOptions } from "../../packages/client/src/index.ts";
import { newPlantJson } from "../../src/core/contract/plant.ts";
import { RunningServer, withStore } from "./server.ts";

/** A server for one test. */
export class ClientTarget implements AsyncDisposable {
  readonly server: RunningServer;
  readonly token: string;

  private constructor(server: RunningServer, token: string) {
    this.server = server;
    this.token = token;
  }

  static async start(...args: string[]): Promise<ClientTarget> {
    const server = await RunningServer.startInProcess({ args });
    return new ClientTarget(server, await server.createToken());
  }

  client(options: Partial<PlantStoreClientOptions> = {}): PlantStoreClient {
    return new PlantStoreClient({ baseUrl: this.server.url, token: this.token, ...options });
  }

  /** The stored plant with an id as one line of JSON. */
  async stored(digits: string): Promise<string> {
    const plant = await withStore(this.server.database, "existing", (store) => store.get(BigInt(digits)));
    return plant === undefined ? "" : `${newPlantJson(plant)}\n`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}

/** The reason with which a promise rejects. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("The promise was not rejected");
}
