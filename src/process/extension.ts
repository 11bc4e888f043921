// Loads the operations of the operator's own module, which --extend names.

import { resolve } from "node:path";
import { OperatorError } from "../base/operator-error.ts";
import type { Access } from "../contract/access.ts";
import type { Contract } from "../contract/contract.ts";
import type { Operation } from "../http/operation.ts";
import { pathShape } from "../json/percent-encoding.ts";

/** Makes the operations for the contract that is served. Rejects with an OperatorError. */
export type Extension = (contract: Contract) => Promise<readonly Operation[]>;

/**
 * Loads a module whose default export is an operation, a function that makes some from the contract, or
 * a list of these. Rejects with an OperatorError.
 */
export async function loadExtension(file: string | undefined): Promise<Extension> {
  if (file === undefined) return async () => [];
  const library = await import("../index.ts");
  // The module gets this program's own copy: classes of another one would not be those of the server.
  Bun.plugin({
    name: "plantstore",
    setup: (build) => void build.module("plantstore", () => ({ exports: { ...library }, loader: "object" })),
  });
  const { default: exported } = await import(resolve(file)).catch((error) => {
    throw failed(file, error);
  });
  return async (contract) => {
    const operations = await operationsOf(exported, contract).catch((error) => {
      throw failed(file, error);
    });
    if (operations.length === 0 || !operations.every(isOperation))
      throw new OperatorError(
        `--extend ${file}: its default export is no list of operations; export default [defineOperation({ … })]`,
        2,
      );
    return operations.map((operation) => ({ ...operation, access: accessOf(operation, contract) }));
  };
}

async function operationsOf(exported: unknown, contract: Contract): Promise<unknown[]> {
  if (typeof exported === "function") return operationsOf(await exported(contract), contract);
  if (!Array.isArray(exported)) return [exported];
  return (await Promise.all(exported.map((each) => operationsOf(each, contract)))).flat();
}

/**
 * How callers of an operation identify themselves: as its description says, or else as its module
 * does, or else as the whole description does.
 */
function accessOf({ method, path, access }: Operation, contract: Contract): Access {
  const shape = pathShape(path);
  const described = contract.otherOperations.find(
    (each) => each.method === method && pathShape(each.path) === shape,
  );
  return described?.access ?? access ?? contract.undescribedAccess;
}

/** The first line of the message: a syntax error has that of each of its places. */
function failed(file: string, error: unknown): OperatorError {
  const { errors } = error as { readonly errors?: readonly unknown[] };
  return new OperatorError(
    error instanceof OperatorError
      ? `--extend ${file}: ${error.message}`
      : `--extend ${file} cannot be loaded: ${String(errors?.[0] ?? error).split("\n")[0]}`,
    2,
  );
}

function isOperation(value: unknown): value is Operation {
  const { run, method, path, operationId } = Object(value) as Partial<Operation>;
  return typeof run === "function" && [method, path, operationId].every((each) => typeof each === "string");
}

/** Throws an OperatorError if two operations have one method and path, or one name. */
export function assertDistinct(
  operations: readonly Pick<Operation, "method" | "path" | "operationId">[],
): void {
  const seen = new Map<string, string>();
  for (const operation of operations) {
    const route = `${operation.method} ${operation.path}`;
    for (const key of [`${operation.method} ${pathShape(operation.path)}`, operation.operationId]) {
      const other = seen.get(key);
      if (other !== undefined)
        throw new OperatorError(
          `--extend: ${operation.operationId} (${route}) has the name or the path of the operation ${other}, which is served already`,
          2,
        );
      seen.set(key, operation.operationId);
    }
  }
}
