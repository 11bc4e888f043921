// Names the paths of the interface description and its page, below the base path. They are known
// from the start, while their responses are loaded with the first visit.

export const documentNames = ["openapi.json", "openapi.yaml"] as const;

export type DocumentName = (typeof documentNames)[number];

export const fileNames = ["docs/page.js", "docs/scalar.js"] as const;
