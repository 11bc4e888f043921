// Implements operations that the contract describes: what it says of their parameters, their bodies,
// their errors and their security holds before a handler runs.

import { ApiError } from "../base/errors.ts";
import { OperatorError } from "../base/operator-error.ts";
import type { Contract } from "../contract/contract.ts";
import type { Operation } from "../http/operation.ts";
import { encodePath } from "../json/percent-encoding.ts";
import {
  type DescribedOperation,
  describedSuccess,
  methods,
  operationAt,
} from "../openapi/description/described-operation.ts";
import { errorFormatOf } from "../openapi/description/error-shapes.ts";
import { readAccess } from "../openapi/description/security.ts";
import { Place } from "../openapi/document/place.ts";
import { makeOperation, type Result, toReply } from "../plants/define-operation.ts";
import { type OwnCall, ownCall, runHandler } from "../plants/own-operation.ts";
import type { CollectionTypes } from "../plants/own-store.ts";
import { readDescribedBody } from "./described-body.ts";
import { readDescribedParameters, type SentValues } from "./described-parameters.ts";
import type { Handlers } from "./described-types.ts";

/** The argument of a handler: what was sent, as described, and the store. */
type DescribedCall = OwnCall<CollectionTypes> & SentValues & { readonly body: unknown };

type Handler = (call: DescribedCall) => Promise<Result> | Result;

/**
 * Makes operations for a contract from handlers, by methods and paths as it has them, such as
 * "POST /bookings/{id}/cancel". One of a collection's own operations is replaced. The function that
 * it returns rejects with an OperatorError for one that is not described.
 *
 * @typeParam Paths what openapi-typescript makes of the contract.
 */
export function implement<Paths = Record<string, unknown>>(
  handlers: Handlers<Paths>,
): (contract: Contract) => Promise<Operation[]> {
  const all = Object.entries(handlers) as [string, Handler][];
  return (contract) => {
    const root = Place.root(contract.document, { isLenient: contract.isLenient });
    return Promise.all(all.map(([key, handle]) => implementOne(contract, root, key, handle)));
  };
}

async function implementOne(
  contract: Contract,
  root: Place,
  key: string,
  handle: Handler,
): Promise<Operation> {
  const described = findOperation(root, key);
  const { place, path } = described;
  const method = described.method.toUpperCase() as Operation["method"];
  const readParameters = await readDescribedParameters(described);
  const readBody = await readDescribedBody(place);
  const status = describedSuccess(described, ["200", "201", "202", "204"])?.status;
  const { operationId } = place.object ?? {};
  return makeOperation<SentValues & { readonly body: unknown }>({
    operationId: typeof operationId === "string" ? operationId : key,
    method,
    path: encodePath(path),
    access: readAccess(place),
    errors: errorFormatOf(described, contract.errors.shape),
    async read({ url, headers, segments, readBody: readBytes }) {
      const [, query = ""] = /\?([^#]*)/.exec(url) ?? [];
      const parameters = readParameters({ headers, query, segments });
      if (parameters instanceof ApiError) return parameters;
      const body = await readBody?.(headers, readBytes);
      return body instanceof ApiError ? body : { ...parameters, body: body?.value };
    },
    async handle(sent, call) {
      const result = await runHandler(() => handle({ ...ownCall(call), ...sent }));
      return result instanceof ApiError || result instanceof Response ? result : toReply(result, status);
    },
  });
}

function findOperation(root: Place, key: string): DescribedOperation {
  const [, word = "", path = ""] = /^([A-Z]+) (\/\S*)$/.exec(key) ?? [];
  const method = methods.find((each) => each.toUpperCase() === word);
  const item = root.at("paths", path);
  if (method === undefined || item.at(method).value === undefined)
    throw new OperatorError(
      `the contract does not describe ${key}; name an operation by its method and path, such as "POST /bookings/{id}/cancel"`,
      2,
    );
  return operationAt(item, path, method);
}
