// Reads the contract that --contract names, with the files in its folder that it refers to.

import { createReadStream } from "node:fs";
import { OperatorError } from "../../base/operator-error.ts";
import type { ContractSource } from "../../contract/contract.ts";
import { decodeUtf8 } from "../../json/utf8.ts";
import { codeUnitsMax } from "../document/description-text.ts";

/** Rejects with an OperatorError if a file cannot be read. */
export async function readContractFile(file: string): Promise<ContractSource> {
  const bytes = await readWhole(file).catch(({ code }: NodeJS.ErrnoException) => {
    throw new OperatorError(`the contract ${file} cannot be read (${code}); name a file with --contract`, 2);
  });
  if (bytes.length > bytesMax)
    throw new OperatorError(`the contract ${file} has more than ${bytesMax} bytes; is it the right file?`, 2);
  const text = decoded(bytes);
  if (text === undefined)
    throw new OperatorError(
      `the contract ${file} is neither UTF-8 nor UTF-16; convert it, such as with "iconv -f WINDOWS-1252 -t UTF-8 ${file} > NEW", and name NEW`,
      2,
    );
  const source = { text };
  if (!refersElsewhere.test(text)) return source;
  // Loaded late, as most contracts are in one file.
  const { bundleFiles } = await import("./bundle-files.ts");
  return bundleFiles(file, source);
}

/** No longer description is read: a character takes at most so many bytes. */
const bytesMax = 3 * codeUnitsMax;

/** The bytes of a file or a pipe, up to the limit: a device may never end. */
async function readWhole(file: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Not Bun.file: the conformance kit runs on Node, too.
  for await (const chunk of createReadStream(file)) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > bytesMax) break;
  }
  return Buffer.concat(chunks);
}

/** The text of a file in UTF-8, or in UTF-16 with its byte order mark; undefined for another encoding. */
function decoded(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes;
  const isLittle = first === 0xff && second === 0xfe;
  const isBig = first === 0xfe && second === 0xff;
  if (!isLittle && !isBig) return decodeUtf8(bytes);
  return new TextDecoder(isLittle ? "utf-16le" : "utf-16be").decode(bytes);
}

/** A reference that does not begin with "#". */
const refersElsewhere = /\$ref["']?\s*:\s*(?!\s|["']?#)/;
