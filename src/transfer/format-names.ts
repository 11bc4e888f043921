// Names the formats of import and export, apart from the formats, which no start needs.

/** The values of --format. */
export const formatNames = ["ndjson", "csv"] as const;

export type FormatName = (typeof formatNames)[number];
