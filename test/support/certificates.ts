// Self-signed certificates from openssl.

import { programPath } from "./programs.ts";
import type { TemporaryFolder } from "./server.ts";

/** OpenSSL's options for a key. certbot makes EC keys; an RSA key takes 0.1 s of a processor. */
const keyOptions = {
  ec: ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
  rsa: ["-newkey", "rsa:2048"],
};

export type KeyType = keyof typeof keyOptions;

interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
}

/** Makes NAME.crt and NAME.key in a folder; the paths of both. */
export function makeCertificate(
  folder: TemporaryFolder,
  name: string,
  subject: string,
  /** Such as "DNS:localhost,IP:127.0.0.1". */
  names?: string,
  keyType: KeyType = "ec",
): CertificateFiles {
  const files = { certificate: folder.file(`${name}.crt`), key: folder.file(`${name}.key`) };
  const made = Bun.spawnSync([
    programPath("openssl"),
    ...["req", "-x509", ...keyOptions[keyType], "-nodes", "-days", "2", "-subj", subject],
    ...(names === undefined ? [] : ["-addext", `subjectAltName=${names}`]),
    ...["-keyout", files.key, "-out", files.certificate],
  ]);
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
  return files;
}
