// The public interface of `@plantstore/client`.

export { type CallOptions, type ListOptions, PlantStoreClient } from "./client.ts";
export {
  PlantStoreError,
  PlantStoreInvalidResponseError,
  PlantStoreNetworkError,
  PlantStoreTimeoutError,
} from "./errors.ts";
export type { PlantStoreClientOptions, RetryInfo } from "./options.ts";
export type { NewPlant, Plant, PlantPage } from "./plant.ts";
