// A real server with a token, and the errors of a client.

import { PlantStoreClient, type PlantStoreClientOptions } from "../../packages/client/src/index.ts";
import { plantJson } from "../../src/core/contract/plant.ts";
import { plantStore } from "./contracts.ts";
import { RunningServer } from "./server.ts";
import { storedPlant } from "./stored-plants.ts";

export type ClientTarget = Awaited<ReturnType<typeof startClientTarget>>;

/** A server for one test, with clients of it. */
export async function startClientTarget(...args: string[]) {
  const server = await RunningServer.startInProcess({ args });
  const token = await server.createToken();
  return {
    server,
    token,
    client: (options: Partial<PlantStoreClientOptions> = {}) =>
      new PlantStoreClient({ baseUrl: server.url, token, ...options }),
    /** The stored plant with an id as one line of JSON. */
    async stored(digits: string): Promise<string> {
      const plant = await storedPlant(server.database, BigInt(digits));
      return plant === undefined ? "" : `${plantJson(plantStore, plant)}\n`;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
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
