// Reads the TLS certificate of the public listener from files, at the start.

import { readFileSync, statSync } from "node:fs";
import { errorMessage, OperatorError } from "../base/operator-error.ts";
import type { Emit } from "../base/server-event.ts";
import type { Certificate } from "../http/listener.ts";

const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/**
 * Reads a certificate, followed by those of intermediate authorities, and its key. Rejects with an
 * OperatorError if the files cannot be read or do not belong together.
 */
export async function readCertificate(certificate: string, keyFile: string): Promise<Certificate> {
  // Loaded only for a certificate: it would slow every start.
  const { createPrivateKey, X509Certificate } = await import("node:crypto");
  const [cert, key] = [readPem(certificate), readPem(keyFile)];
  // The first is the server's. The others are parsed as well, because a broken one would stop the
  // listener.
  const [x509] = parseFile(certificate, () =>
    (cert.match(certificateBlock) ?? [cert]).map((block) => new X509Certificate(block)),
  );
  if (x509 === undefined) throw new Error("No certificate was parsed");
  const privateKey = parseFile(keyFile, () => createPrivateKey(key));
  if (!x509.checkPrivateKey(privateKey)) {
    throw new OperatorError(
      `the key ${keyFile} does not belong to the certificate ${certificate}; name the files of one pair`,
    );
  }
  return { cert, key, expiresAt: Date.parse(x509.validTo) };
}

const dayMs = 86_400_000;

/** Warns of the end of a certificate once a day, from two weeks before, until it is disposed. */
export function watchCertificate({ expiresAt }: Certificate, emit: Emit): Disposable {
  const warn = () => {
    if (expiresAt > Date.now() + 14 * dayMs) return;
    const verb = expiresAt > Date.now() ? "expires" : "has expired";
    emit({ kind: "certificateEnds", reason: `it ${verb} at ${new Date(expiresAt).toISOString()}` });
  };
  warn();
  const timer = setInterval(warn, dayMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Rejects a FIFO or a device before reading it: it may have no end. */
function readPem(path: string): string {
  try {
    if (!statSync(path).isFile()) throw new OperatorError(`${path} is not a file; name a file in PEM`);
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new OperatorError(`${path} cannot be read (${code ?? message}); name a file in PEM`);
  }
}

function parseFile<T>(path: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const reason = errorMessage(error);
    throw new OperatorError(`${path} cannot be used (${reason}); it must be PEM, a key without a passphrase`);
  }
}
