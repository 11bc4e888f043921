// Small text files that an operator writes: configuration, secrets.

import { closeSync, openSync, readSync } from "node:fs";
import { decodeUtf8 } from "../contract/utf8.ts";
import { OperatorError } from "../operator-error.ts";

/** What a Kubernetes Secret or ConfigMap may hold. */
const bytesMax = 2 ** 20;

/** The text of a file; throws an OperatorError that starts with `by`, what named the file. */
export function readTextFile(path: string, by: string): string {
  const fault = (reason: string) => new OperatorError(`${by}: ${path} ${reason}`, 2);
  if (path === "") throw new OperatorError(`${by} is empty; it must name a file`, 2);
  const bytes = bytesOf(path, fault);
  if (bytes.length > bytesMax) throw fault(`is over ${bytesMax} bytes; is it the right file?`);
  const text = decodeUtf8(bytes);
  if (text === undefined || text.includes("\0")) throw fault("is no text in UTF-8; is it the right file?");
  return text;
}

/** At most one byte over the limit, so that an endless device ends, while a pipe may be read as well. */
function bytesOf(path: string, fault: (reason: string) => OperatorError): Uint8Array {
  const bytes = new Uint8Array(bytesMax + 1);
  let length = 0;
  try {
    const file = openSync(path, "r");
    try {
      for (let read = -1; read !== 0; length += read)
        read = readSync(file, bytes, length, bytes.length - length, null);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    // Node's message goes on with the system call and the path.
    throw fault(`cannot be read (${(error as Error).message.split(",")[0]})`);
  }
  return bytes.subarray(0, length);
}
