// The certificate of the public listener: read from files, and read again when they change.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { OperatorError } from "../operator-error.ts";

/** Paths of PEM files. */
export interface CertificateFiles {
  /** The certificate, with those of intermediate authorities behind it. */
  readonly certificate: string;
  readonly key: string;
}

export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly subject: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Reads a certificate and its key. Rejects with an OperatorError if they cannot be read or do not belong together. */
export async function readCertificate(files: CertificateFiles): Promise<Certificate> {
  const [cert, key] = await Promise.all([readPem(files.certificate), readPem(files.key)]);
  const x509 = parsed(files.certificate, () => new X509Certificate(cert));
  const privateKey = parsed(files.key, () => createPrivateKey(key));
  if (!x509.checkPrivateKey(privateKey)) {
    throw new OperatorError(
      `the key ${files.key} is not that of the certificate ${files.certificate}; name the files of one pair`,
    );
  }
  return {
    cert,
    key,
    subject: x509.subject.replaceAll("\n", ", "),
    expiresAt: Date.parse(x509.validTo),
  };
}

export interface CertificateObserver {
  readonly changed: (certificate: Certificate) => void;
  /** The files have changed, and cannot be used as they are now. */
  readonly refused: (reason: string) => void;
}

/** Files are looked at and not watched: what is mounted into a container is swapped behind symbolic links. */
const lookEveryMs = 1_000;

/** Looks for a new certificate until it is stopped. */
export class CertificateReloader {
  readonly #files: CertificateFiles;
  readonly #observer: CertificateObserver;
  readonly #timer: Timer;
  #current: Certificate;
  /** What was wrong at the last look: said only if the next look finds the same, as two files change one by one. */
  #suspect: string | undefined;
  #refused: string | undefined;

  constructor(files: CertificateFiles, current: Certificate, observer: CertificateObserver) {
    this.#files = files;
    this.#current = current;
    this.#observer = observer;
    this.#timer = setInterval(() => void this.#look(), lookEveryMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    try {
      const found = await readCertificate(this.#files);
      this.#suspect = undefined;
      this.#refused = undefined;
      if (found.cert === this.#current.cert && found.key === this.#current.key) return;
      this.#current = found;
      this.#observer.changed(found);
    } catch (error) {
      this.#suspected(error instanceof Error ? error.message : String(error));
    }
  }

  #suspected(reason: string): void {
    if (this.#suspect === reason && this.#refused !== reason) {
      this.#refused = reason;
      this.#observer.refused(reason);
    }
    this.#suspect = reason;
  }
}

async function readPem(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new OperatorError(`${path} cannot be read (${code ?? message}); name a file in PEM`);
  }
}

function parsed<T>(path: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(`${path} cannot be used (${reason}); it must be PEM, a key without a passphrase`);
  }
}
