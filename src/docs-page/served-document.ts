// Makes the contract as it is served: the author's description, which is kept, with the parts that
// the server adds to every description.

import type { Contract } from "../contract/contract.ts";
import type { ErrorFormat } from "../contract/error-format.ts";
import type { Operation } from "../http/operation.ts";
import { type methods, operationAt } from "../openapi/description/described-operation.ts";
import { errorFormatOf } from "../openapi/description/error-shapes.ts";
import { Place } from "../openapi/document/place.ts";
import { collectionFinder } from "./collection-at.ts";
import { type Description, type PathItem, parametersOf } from "./description.ts";
import { type AuthorOperation, Draft } from "./draft.ts";
import { addErrorSchema, addHeaders, resolveSecuritySchemes, restrictTexts } from "./served-components.ts";
import { introductionOf } from "./served-introduction.ts";
import { describeCreate, describeOperation } from "./served-operations.ts";
import { ServedResponses } from "./served-responses.ts";
import { acceptedSecurity, securityOf } from "./served-security.ts";
import { placeholder } from "./server-address.ts";

/**
 * @param operations those besides the creates.
 * @param basePath the server's, which messages of errors have.
 */
export function servedDocument(
  contract: Contract,
  operations: readonly Operation[],
  basePath = "",
): Description {
  const draft = new Draft(contract, operations);
  const collectionAt = collectionFinder(contract);
  const { document } = draft;
  const { access, errors } = contract;
  const errorName = addErrorSchema(draft);
  const responses = new ServedResponses(draft, { basePath, errorName });
  document.servers = [{ url: placeholder, description: "This server." }];
  document.info = { ...document.info, description: introductionOf(draft, errorName) };
  addHeaders(draft);
  resolveSecuritySchemes(draft);
  restrictTexts(draft);
  const placed = operations.map(({ method, path }) => `${method} ${draft.pathOf(path)}`);
  for (const collection of contract.collections)
    if (!placed.includes(`POST ${collection.describedPath}`))
      setOperation(draft, "POST", collection.describedPath, (own) =>
        describeCreate(draft, responses, collection, own),
      );
  for (const operation of operations) {
    const { method, path, described } = operation;
    const collection = collectionAt(path);
    if (described !== undefined)
      setOperation(draft, method, draft.pathOf(path), (own) =>
        describeOperation(draft, responses, { ...operation, described }, collection, own),
      );
    // A sandbox responds as the author describes, and has errors of its own; an operation of one's own
    // says how callers identify themselves.
    else if (draft.document.paths[draft.pathOf(path)] !== undefined) {
      const errors = errorsAt(contract, draft.pathOf(path), method);
      setOperation(draft, method, draft.pathOf(path), (own) => ({
        ...own,
        // The page shows them.
        ...(own.parameters !== undefined && { parameters: draft.resolveParameters(own.parameters) }),
        ...(own.requestBody !== undefined && { requestBody: draft.resolve(own.requestBody) }),
        responses: responses.of(
          {
            kind: operation.access === undefined ? "asDescribed" : "implemented",
            collection,
            method,
            path,
            access: operation.access ?? access,
            errors,
          },
          own.responses,
        ),
      }));
    }
  }
  const offered = new Set(operations.map(({ method, path }) => `${method} ${draft.pathOf(path)}`));
  for (const { method, path } of contract.otherOperations) {
    if (offered.has(`${method} ${path}`)) continue;
    const collection = collectionAt(path);
    setOperation(draft, method, path, (own) => ({
      ...own,
      responses: responses.of({ kind: "unserved", collection, method, path, access, errors }, own.responses),
    }));
  }
  if (document.security !== undefined) document.security = acceptedSecurity(draft, document.security);
  return document;
}

/** How the errors of an operation of no collection are written. */
function errorsAt({ document, errors }: Contract, path: string, method: string): ErrorFormat {
  const item = Place.root(document).at("paths", path);
  const described = operationAt(item, path, method.toLowerCase() as (typeof methods)[number]);
  return errorFormatOf(described, errors.shape);
}

/** Replaces the author's operation by the one that is served, or adds it. */
function setOperation(
  draft: Draft,
  method: string,
  path: string,
  describe: (own: AuthorOperation) => object,
): void {
  const paths = draft.document.paths as Record<string, PathItem>;
  const name = method.toLowerCase();
  const item = draft.resolve(paths[path]) ?? {};
  const own: AuthorOperation = draft.resolve(item[name]) ?? {};
  // The page shows parameters, which may be references.
  const parameters = draft.resolveParameters(parametersOf(item));
  paths[path] = { ...item, ...(parameters.length > 0 && { parameters }) } as PathItem;
  const described = { ...describe(own), ...securityOf(draft, own) };
  paths[path] = { ...paths[path], [name]: described } as PathItem;
}
