// Written by `npm run generate` from src/core/contract/resource.ts.

/** A plant as it is returned, without its id. A field that the plant does not have is absent. */
export interface Plant {
  readonly name: string;
  readonly tag?: string;
}

/** The type of each field in JSON. */
export const fields = {
  name: { type: "string", isRequired: true },
  tag: { type: "string", isRequired: false },
} as const;
