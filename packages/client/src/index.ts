// The public interface of `@plantstore/client`.

export { type CreatePlantOptions, PlantStoreClient } from "./client.ts";
export {
  PlantStoreError,
  PlantStoreInvalidResponseError,
  PlantStoreNetworkError,
  PlantStoreTimeoutError,
} from "./errors.ts";
export type { PlantStoreClientOptions, RetryInfo } from "./options.ts";
export type { NewPlant, Plant } from "./plant.ts";
