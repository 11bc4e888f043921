// A real server with a token, and the errors of a client.

import { PlantStoreClient, type PlantStoreClientOptions } from "../../packages/client/src/index.ts";
import { newPlantJson } from "../../src/core/contract/plant.ts";
import { RunningServer, TemporaryFolder, withStore } from "./server.ts";

/** A server for one test. */
export class ClientTarget implements AsyncDisposable {
  readonly server: RunningServer;
  readonly token: string;
  readonly #folder: TemporaryFolder;

  private constructor(server: RunningServer, token: string, folder: TemporaryFolder) {
    this.server = server;
    this.token = token;
    this.#folder = folder;
  }

  static async start(...args: string[]): Promise<ClientTarget> {
    const folder = new TemporaryFolder();
    const server = await RunningServer.startInProcess({
      database: `sqlite:${folder.file("plants.db")}`,
      args,
    });
    return new ClientTarget(server, await server.createToken(), folder);
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
    this.#folder[Symbol.dispose]();
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
