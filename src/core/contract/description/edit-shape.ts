// Checks that the bodies of PUT and PATCH have the properties of the body of POST: otherwise the
// operation is not served.

import {
  isObject,
  isReadOnly,
  type Json,
  propertiesOf,
  requiredOf,
  restrictsAlike,
  unsupportedKeyword,
} from "../schema/schemas.ts";

/** The members of a body that changes a resource. */
export interface EditShape {
  readonly members: readonly string[];
  readonly required: readonly string[];
  /** Whether it must have the id, which is that of the path. */
  readonly requiresId: boolean;
  /** Whether it must have a member at all. */
  readonly isFilled: boolean;
  /** Whether it may have other members, which are ignored. */
  readonly allowsOthers: boolean;
}

/**
 * Reads the shape of a body, or returns why it cannot be served.
 *
 * @param schema with its references replaced, as is that of the create.
 * @param idName the name of the id, which the path has, so that the body need not.
 */
export function readEditShape(
  kind: "replace" | "change",
  schema: Json,
  { created, idName }: { readonly created: Json; readonly idName: string },
): EditShape | string {
  const [own, others] = [schema, created].map((each) => writtenProperties(each, idName));
  if (own === undefined || others === undefined) return "its body is no object with properties";
  const { minProperties, ...rest } = schema;
  // Descriptions often require a patch to have at least one member.
  const isFilled = kind === "change" && minProperties === 1;
  const keyword = unsupportedKeyword(isFilled ? rest : schema);
  if (keyword !== undefined) return `the keyword ${keyword} of its body is not supported`;
  // A merge patch has null for what is to be removed.
  const comparable = (property: Json) => (kind === "change" ? withoutNull(property) : property);
  for (const [name, property] of own) {
    const other = others.get(name);
    if (other === undefined) return `its body has "${name}", which that of POST does not have`;
    if (!restrictsAlike(comparable(property), comparable(other)))
      return `the "${name}" of its body is not that of POST`;
  }
  const required = requiredOf(schema)
    .map(String)
    .filter((name) => own.has(name));
  if (kind === "replace") {
    const missing = [...others.keys()].find((name) => !own.has(name));
    if (missing !== undefined) return `its body does not have "${missing}"`;
    const alike = requiredOf(created)
      .map(String)
      .filter((name) => own.has(name));
    if (required.toSorted().join() !== alike.toSorted().join())
      return "its body requires other properties than that of POST";
  }
  return {
    members: [...own.keys()],
    required,
    requiresId: requiredOf(schema).includes(idName) && !isReadOnly(propertiesOf(schema)[idName]),
    isFilled,
    allowsOthers: schema.additionalProperties !== false,
  };
}

/** The properties that a client may write. */
function writtenProperties(schema: Json, idName: string): Map<string, Json> | undefined {
  if (!isObject(schema.properties)) return undefined;
  const written = Object.entries(schema.properties).filter(
    ([name, property]) => name !== idName && !isReadOnly(property),
  );
  return new Map(written.map(([name, property]) => [name, isObject(property) ? property : {}]));
}

function withoutNull(schema: Json): Json {
  if (!Array.isArray(schema.type)) return schema;
  const types = schema.type.filter((type) => type !== "null");
  const values = Array.isArray(schema.enum) ? { enum: schema.enum.filter((value) => value !== null) } : {};
  return { ...schema, type: types.length === 1 ? types[0] : types, ...values };
}
