// The types of preact, which is served under this name as it is.
export * from "preact";
