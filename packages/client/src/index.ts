// Exports the public interface of `@plantstore/client`.

export { type Exact, stringifyExact } from "./exact-json.ts";
export { createFetch, type FetchOptions } from "./fetch.ts";
