// The types of preact.
export * from "preact";
