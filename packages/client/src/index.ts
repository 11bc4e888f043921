// The public interface of `@plantstore/client`.

export { type CallOptions, type ListOptions, PlantStoreClient } from "./client.ts";
export {
  PlantStoreError,
  PlantStoreInvalidResponseError,
  PlantStoreNetworkError,
  PlantStoreTimeoutError,
} from "./client-errors.ts";
export type { NewPlant, Plant, PlantPage } from "./new-plant.ts";
export type { PlantStoreClientOptions, RetryInfo } from "./options.ts";
