// Makes the requests that a server must reject: credentials, and bodies.

import type { Field } from "../../../../src/contract/contract.ts";
import { type Contents, newId } from "../requests/contents.ts";
import type { RuleContext } from "../requests/rule-context.ts";
import type { RequestParts } from "../wire/exchange.ts";

/** Credentials that nobody has, from the token of the run. */
export function wrongCredentials(check: RuleContext): Readonly<Record<string, RequestParts>> {
  const { access, collection } = check.contents;
  const { token } = check.target;
  const none = check.contents.credentials(null);
  const invalid = (other: string): RequestParts => {
    const [[name = "", value] = []] = Object.entries(check.contents.credentials(other));
    return { headers: { [name]: value?.trim() ?? null } };
  };
  const last = token.endsWith("A") ? "B" : "A";
  const swapped = Array.from(token, (character) =>
    character === character.toUpperCase() ? character.toLowerCase() : character.toUpperCase(),
  ).join("");
  return {
    "no token": { headers: none },
    ...(access.bearer && {
      "another scheme": { headers: { ...none, Authorization: "Basic dXNlcjpwYXNz" } },
      "a scheme that begins with Bearer": { headers: { ...none, Authorization: "Bearerx" } },
      "no scheme": { headers: { ...none, Authorization: "unknown" } },
      "a scheme without a token": invalid(""),
    }),
    "in the query": {
      path: `${collection.path}?access_token=${encodeURIComponent(token)}`,
      headers: none,
    },
    "an unknown token": invalid("unknown"),
    "two words": invalid("two words"),
    "a long token": invalid("x".repeat(4_000)),
    "a letter beyond ASCII": invalid("\xfcmlaut"),
    "two credentials": invalid("a, Bearer b"),
    "the token and a character": invalid(check.secret(`${token}A`)),
    "the token and a word": invalid(`${token} admin`),
    "the token and a comma": invalid(`${token},`),
    "the token twice": invalid(`${token} ${token}`),
    "another last character": invalid(check.secret(token.slice(0, -1) + last)),
    "without its last character": invalid(check.secret(token.slice(0, -1))),
    ...(swapped === token ? {} : { "in the other case": invalid(check.secret(swapped)) }),
  };
}

/** A body that is no plant. */
export interface InvalidPlant {
  readonly label: string;
  /** `newId` stands for a new id. */
  readonly body: string;
  /** The member that is wrong; undefined for the id, or one that is missing. */
  readonly field?: Field;
  /** Whether a server may take what the body has in place of an id for 0 or 1. */
  readonly isWithoutId?: boolean;
}

/** Bodies without a required member, and with members of other types. */
export function invalidPlants(contents: Contents): readonly InvalidPlant[] {
  const { fields, id } = contents.collection;
  const required = fields.filter(({ isRequired }) => isRequired);
  const ids = [contents.hasTextIds ? "5" : `[${newId}]`, "true", "{}", "null"];
  return [
    ...required.map((field) => ({ label: `no ${field.name}`, body: contents.bodyWithout(newId, field) })),
    ...fields.flatMap((field) =>
      contents.wrongValues(field).map((json) => ({
        label: `${JSON.stringify(field.name)}: ${json}`,
        body: contents.bodyWith(newId, field, json),
        field,
      })),
    ),
    ...(contents.sendsIds
      ? [
          { label: "no id", body: contents.body(contents.titled("Monstera")), isWithoutId: true },
          { label: "no members", body: "{}", isWithoutId: true },
          ...ids.map((json) => ({
            label: `"${id.name}": ${json.replace(newId, "5")}`,
            body: contents.plantJson(json, "Monstera"),
            isWithoutId: !json.includes(newId),
          })),
        ]
      : []),
  ];
}
