// Operations of one's own, as a service defines them.

import { defineOperation } from "../../src/index.ts";

type Options = Parameters<typeof defineOperation>[0];

/** A POST at a path of its name. */
export function ownOperation(
  operationId: string,
  handle: Options["handle"],
  more: Partial<Pick<Options, "method" | "path">> = {},
) {
  return defineOperation({
    operationId,
    method: "POST",
    path: `/${operationId}`,
    summary: operationId,
    responses: { 200: { description: "It." } },
    handle,
    ...more,
  });
}
