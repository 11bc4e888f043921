// GET of one plant, such as {base}/plants/{id}.

import type { Contract, PlantColumns } from "../core/contract/contract.ts";
import { ApiError } from "../core/contract/errors.ts";
import { responseJson, toValues } from "../core/contract/plant.ts";
import { operationName, withArticle } from "../core/contract/words.ts";
import type { Operation } from "../core/http/operation.ts";
import { defineOperation } from "./define-operation.ts";
import { int64 } from "./parameters.ts";

export function getOperation(contract: Contract): Operation {
  const { path, fields, words, operations } = contract;
  const columns = ["id", "created_at", ...fields.map(({ column }) => column)].join(", ");
  return defineOperation({
    operationId: operations.get?.operationId ?? operationName("get", words.one),
    access: operations.get?.access,
    method: "GET",
    path: `${path}/{id}`,
    summary: `Get ${withArticle(words.one)}`,
    description: `Returns ${withArticle(words.one)} as it is stored.`,
    parameters: { id: int64(`The id of the ${words.one}.`) },
    responses: { 200: { description: `The ${words.one}.`, returns: "one" } },
    async handle({ parameters: { id }, store: { read } }) {
      const rows = await read.query<PlantColumns & { created_at: bigint | null }>(
        `SELECT ${columns} FROM plants WHERE id = $1`,
        [id],
      );
      const [row] = rows;
      if (row === undefined)
        return new ApiError(
          "notFound",
          `There is no ${words.one} with the id ${id}; create it, or ask for another one.`,
        );
      return {
        status: 200,
        jsonText: responseJson(contract, { id, values: toValues(contract, row) }, row.created_at),
      };
    },
  });
}
