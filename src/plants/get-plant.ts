// Serves GET of one plant, such as {base}/plants/{id}.

import { ApiError } from "../base/errors.ts";
import { type Collection, representationOf } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { operationName, withArticle } from "../contract/words.ts";
import type { Operation } from "../http/operation.ts";
import { defineOperation } from "./define-operation.ts";
import { idInPath } from "./parameters.ts";
import { checkMatch, excludes } from "./preconditions.ts";

export const entityTagHeader = {
  description: "Another one after each change (RFC 9110, section 8.8.3).",
  schema: { type: "string" },
  example: '"q1mTfOCe0yT8k9Jv2bXbVA"',
};

export function getOperation(collection: Collection): Operation {
  const { itemPath, words, operations } = collection;
  const hasUrl = representationOf(collection, "get").urlName !== undefined;
  return defineOperation({
    operationId: operationName("get", words.one),
    path: itemPath,
    ...operations.get,
    method: "GET",
    summary: `Get ${withArticle(words.one)}`,
    description: `Returns ${withArticle(words.one)} as it is stored.`,
    parameters: { id: idInPath(collection) },
    responses: {
      200: { description: `The ${words.one}.`, headers: { ETag: entityTagHeader }, returns: "one" },
    },
    async handle(call) {
      const { parameters, headers, store } = call;
      const { id } = parameters;
      const found = await store.find(collection, id, hasUrl ? call.url : "");
      if (found === undefined) return noSuchPlant(collection, id);
      const { json, tag } = found;
      const failed = checkMatch(headers, tag, "leave the header out to get it as it is now");
      if (failed !== undefined) return failed;
      const own = { headers: { ETag: tag } };
      if (excludes(headers, tag)) return { status: 304, ...own };
      return { status: 200, jsonText: json, ...own };
    },
  });
}

export function noSuchPlant({ id: { type }, words }: Collection, id: PlantId): ApiError {
  return new ApiError(
    "notFound",
    `There is no ${words.one} with the id ${type.toJson(id)}; create it, or ask for another one.`,
  );
}
