// DELETE of one plant, such as {base}/plants/{id}: safe to retry, as the create is.

import type { Contract } from "../core/contract/contract.ts";
import { operationName, withArticle } from "../core/contract/words.ts";
import type { Operation } from "../core/http/operation.ts";
import { EditRun } from "../operations/edits.ts";
import { defineOperation } from "./define-operation.ts";
import { int64 } from "./parameters.ts";

export function deleteOperation({ path, words: { one }, operations }: Contract): Operation {
  const status = operations.delete?.status ?? 204;
  return defineOperation({
    operationId: operations.delete?.operationId ?? operationName("delete", one),
    access: operations.delete?.access,
    method: "DELETE",
    path: `${path}/{id}`,
    summary: `Delete ${withArticle(one)}`,
    description: `Deletes ${withArticle(one)}. The response is sent only when the deletion is on stable storage, and also if there is no such
${one}, so a client that lost a response can retry. Afterwards the id is free.`,
    parameters: { id: int64(`The id of the ${one}.`) },
    responses: { [status]: { description: `There is no ${one} with this id any more.` } },
    async handle({ caller, parameters: { id }, store }) {
      const run = new EditRun(store, { by: "client", token: caller.name });
      await run.edit([{ id, expected: "any", replacement: undefined }]);
      return { status };
    },
  });
}
