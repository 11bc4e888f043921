// Defines the resource that the service stores. Tables, validation, formats, the console and the
// interface description derive from it.

import { text } from "./field-types.ts";
import { defineResource, optional, required } from "./resource-definition.ts";

export const resource = defineResource({
  /** Besides the id, in the order of CSV columns and of members of responses. */
  fields: {
    name: required(text(), "Monstera deliciosa"),
    tag: optional(text(), "tropical"),
  },
  title: "name",
  group: "tag",
});
