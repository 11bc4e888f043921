// Written by `npm run generate` from src/core/contract/resource.ts.

/** The fields of a plant besides its id. A field that the plant does not have is absent. */
export interface PlantFields {
  readonly name: string;
  readonly tag?: string;
}

/** Which plants are listed: those with exactly these values. */
export interface PlantFilter {
  readonly tag?: string;
}
