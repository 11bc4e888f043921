// Writes the security requirements of the served document: those that the server can check.

import type { Json } from "../json/json-values.ts";
import { readRequirements } from "../openapi/description/security.ts";
import type { AuthorOperation, Draft } from "./draft.ts";

const bearerAuth = {
  type: "http",
  scheme: "bearer",
  description:
    "A token that the operator issued, or a JWT of the identity provider that the operator has configured.",
};

/** The requirements of an operation, which are those of the first create where it is not described. */
export function securityOf(draft: Draft, own: AuthorOperation): { readonly security?: readonly object[] } {
  const { document, collections } = draft.contract;
  const isDescribed = Object.keys(own).length > 0;
  const [first] = collections;
  const create = () =>
    draft.resolve(document.paths?.[first?.describedPath ?? ""]?.post as AuthorOperation | undefined);
  const { security } = isDescribed ? own : (create() ?? {});
  return security === undefined ? {} : { security: acceptedSecurity(draft, security) };
}

/** The requirements that the server can check: a bearer token if there is none. */
export function acceptedSecurity(draft: Draft, security: unknown): readonly object[] {
  const { components } = draft.document;
  const schemes: Record<string, object> = { ...components.securitySchemes };
  const { accepted, refused } = readRequirements(
    security,
    (name) => draft.resolve(Object.hasOwn(schemes, name) ? schemes[name] : undefined) as Json | undefined,
  );
  if (accepted.length > 0 || refused.length === 0) return accepted;
  let name = "bearerAuth";
  while (schemes[name] !== undefined && schemes[name] !== bearerAuth) name = `${name}OfServer`;
  draft.document.components = { ...components, securitySchemes: { ...schemes, [name]: bearerAuth } };
  return [{ [name]: [] }];
}
