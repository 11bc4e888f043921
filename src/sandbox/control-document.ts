// The description of control, with the fields of a contract.

import { type Collection, type Contract, type Field, onlyCollection } from "../core/contract/contract.ts";
import { withArticle } from "../core/contract/words.ts";
import text from "./openapi-control.yaml" with { type: "text" };
import { Examples } from "./response-examples.ts";

interface ControlDocument {
  readonly info: { readonly title: string };
  readonly paths: Readonly<Record<string, unknown>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

const template = Bun.YAML.parse(text) as ControlDocument;

/**
 * The members of a rule's `match` that are no fields, and a name that Ajv takes for unevaluated.
 */
const ownConditions = ["method", "headers", "body", "id", "share", "__proto__"];

/** The fields that `match` has; others with these names are matched by `body`. */
export function matchableFields({ fields }: Collection): readonly Field[] {
  return fields.filter(({ name }) => !ownConditions.includes(name));
}

/** Its id has the name that the contract gives it. */
function storedPlant({ id }: Collection): object {
  const { properties, ...schema } = template.components.schemas.StoredPlant as { properties: { id: object } };
  return { ...schema, required: [id.name], properties: { [id.name]: properties.id } };
}

export function controlDocument(contract: Contract): ControlDocument {
  const collection = onlyCollection(contract);
  const { id, fields, words } = collection;
  const propertiesOf = (some: readonly Field[]) =>
    Object.fromEntries(some.map(({ name, schema }) => [name, schema]));
  const required = fields.flatMap(({ name, isRequired }) => (isRequired ? [name] : []));
  const { one } = words;
  const description = `The fields of ${withArticle(one)}`;
  const { Outcome } = template.components.schemas;
  const outcome = Outcome as { readonly properties: object };
  const example = {
    description: "The name of an example of a response in openapi.json.",
    enum: [...new Examples(contract, contract.basePath).byName.keys()],
  };
  return {
    ...template,
    info: { ...template.info, title: `${contract.service} sandbox control` },
    components: {
      ...template.components,
      schemas: {
        ...template.components.schemas,
        Plant: { type: "object", description: `${description}.`, required, properties: propertiesOf(fields) },
        StoredPlant: storedPlant(collection),
        ...(id.type.kind === "integer" ? {} : { PlantId: id.schema }),
        Outcome: { ...outcome, properties: { ...outcome.properties, example } },
        MatchedPlant: {
          type: "object",
          description: `${description}, each if the rule depends on it.`,
          properties: propertiesOf(matchableFields(collection)),
        },
      },
    },
  };
}
