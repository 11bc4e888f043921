// The typed client, as `plantstore/client`: what this file exports is the whole of it.

export { type CreatePlantOptions, PlantStoreClient } from "./client.ts";
export {
  PlantStoreError,
  PlantStoreInvalidResponseError,
  PlantStoreNetworkError,
  PlantStoreTimeoutError,
} from "./errors.ts";
export type { PlantStoreClientOptions, RetryInfo } from "./options.ts";
export type { NewPlant, Plant } from "./plant.ts";
