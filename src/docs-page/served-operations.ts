// Describes the operations of the served document: the author's, with examples, parameters and
// responses of the server.

import type { Collection, Plant } from "../contract/contract.ts";
import { bodyJson } from "../contract/plant.ts";
import { capitalized, withArticle } from "../contract/words.ts";
import type { Operation, OperationDocument, ParameterDocuments } from "../http/operation.ts";
import { parseExactJson } from "../json/exact-json.ts";
import type { Json } from "../json/json-values.ts";
import { Place } from "../openapi/document/place.ts";
import { madeValues } from "../openapi/schema/made-values.ts";
import {
  type Example,
  isIdempotencyKey,
  jsonMedia,
  jsonType,
  type MediaType,
  type ParameterObject,
  parametersOf,
  type RequestBody,
} from "./description.ts";
import type { AuthorOperation, Draft } from "./draft.ts";
import type { ServedResponses } from "./served-responses.ts";

export function describeCreate(
  draft: Draft,
  responses: ServedResponses,
  collection: Collection,
  own: AuthorOperation,
): object {
  const { words, operations, examples, path, id, requiresKey } = collection;
  const { access, errors, operationId } = operations.create;
  const body = draft.resolve(own.requestBody);
  const [type, media] = jsonMedia(body?.content) ?? [jsonType, {}];
  const one = withArticle(words.one);
  const json = bodyJson(collection, examples[0] as Plant);
  const summary = capitalized(one);
  const named = examplesOf(draft, media) ?? { example: { summary, value: parseExactJson(json) } };
  const parameters = draft.resolveParameters(own.parameters);
  const hasKey = parameters.some(({ name }) => isIdempotencyKey(name));
  if (!id.isRequired && !hasKey && !requiresKey) parameters.push(keyParameter(words.one));
  const same = id.isRequired ? "The same id" : "The same `Idempotency-Key`";
  return {
    summary: `Create ${one}`,
    description: `Creates ${one}. The response is sent only after the ${words.one} is on stable storage. ${same} with the same content has the same response again; with different content it is 40009.`,
    ...own,
    operationId,
    ...(parameters.length > 0 && { parameters }),
    requestBody: {
      required: true,
      ...body,
      content: {
        [type]: { ...media, ...(media.example === undefined && { examples: named }) },
      },
    },
    responses: responses.of(
      { kind: "create", collection, method: "POST", path, access, errors },
      own.responses,
    ),
  };
}

/** The author's examples, with their references resolved; undefined if there are none. */
function examplesOf(draft: Draft, { examples = {} }: MediaType): Record<string, Example> | undefined {
  const given = Object.entries(examples).map(([name, each]) => [name, draft.resolve(each) ?? {}]);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/** The header field by which a create can be sent again, where the server chooses the id. */
function keyParameter(one: string): ParameterObject {
  return {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description: `One that is new for each ${one}, such as a UUID. Sent again, it creates no second one.`,
    schema: { type: "string", minLength: 1, maxLength: 255 },
  };
}

/**
 * Describes an operation other than a create.
 *
 * @param collection undefined for an operation of none.
 */
export function describeOperation(
  draft: Draft,
  responses: ServedResponses,
  operation: Operation & { readonly described: OperationDocument },
  collection: Collection | undefined,
  own: AuthorOperation,
): object {
  const { operationId, method, path, described } = operation;
  const { access = draft.contract.access, errors = draft.contract.errors } = operation;
  const { summary, description, parameters, isConditional, body } = described;
  const value = body === undefined ? undefined : exampleOf(draft, body);
  const kind = body === undefined ? "withoutBody" : "withBody";
  return {
    ...(collection !== undefined && { tags: draft.createOf(collection).tags ?? [collection.words.many] }),
    summary,
    description,
    ...(body !== undefined && {
      requestBody: {
        required: true,
        content: { [jsonType]: { schema: body, examples: { [operationId]: { summary, value } } } },
      },
    }),
    ...own,
    ...(own.requestBody !== undefined && {
      requestBody: withExample(draft.resolve(own.requestBody), { summary, value }),
    }),
    operationId: own.operationId ?? operationId,
    parameters: describeParameters(draft, path, parameters, own),
    responses: responses.of(
      { kind, collection, isConditional, method, path, access, errors },
      own.responses,
      described.responses,
    ),
  };
}

/** The author's parameters, and those that only the server has. */
function describeParameters(
  draft: Draft,
  path: string,
  parameters: ParameterDocuments,
  own: AuthorOperation,
): ParameterObject[] {
  const ownPath = draft.pathOf(path);
  const ownParameters = draft.resolveParameters(own.parameters);
  const known = [...ownParameters, ...draft.resolveParameters(parametersOf(draft.document.paths[ownPath]))];
  const names = namesInPath(path);
  const ownNames = namesInPath(ownPath);
  const added = Object.entries(parameters).map(([name, { description, schema, whenAbsent }]) => {
    const index = names.indexOf(name);
    return {
      name: ownNames[index] ?? name,
      in: index === -1 ? "query" : "path",
      required: whenAbsent === undefined,
      description,
      schema,
    };
  });
  const isKnown = (added: ParameterObject) =>
    known.some((each) => each.name === added.name && each.in === added.in);
  return [...ownParameters, ...added.filter((each) => !isKnown(each))];
}

/** The names of the parameters of a path. */
function namesInPath(path: string): string[] {
  return [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = ""]) => name);
}

/** The author's body, with an example if it has none. */
function withExample({ content = {}, ...body }: Partial<RequestBody> = {}, example: Example): object {
  const [type, media] = jsonMedia(content) ?? [];
  const isComplete = (media?.example ?? media?.examples) !== undefined;
  if (type === undefined || example.value === undefined || isComplete)
    return { required: true, ...body, content };
  return { required: true, ...body, content: { ...content, [type]: { ...media, examples: { example } } } };
}

/** A value for a schema: the author's example where there is one. */
function exampleOf({ document }: Draft, schema: object): unknown {
  const root = Place.root(document as unknown as Json, { isLenient: true });
  const [value] = madeValues([root.holding(schema as Json)], { direction: "request" });
  return value;
}
