// Self-signed certificates from openssl.

import { programPath } from "./programs.ts";
import type { TemporaryFolder } from "./server.ts";

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
): CertificateFiles {
  const files = { certificate: folder.file(`${name}.crt`), key: folder.file(`${name}.key`) };
  const request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
  const made = Bun.spawnSync([
    programPath("openssl"),
    ...request.split(" "),
    ...["-subj", subject, "-keyout", files.key, "-out", files.certificate],
    ...(names === undefined ? [] : ["-addext", `subjectAltName=${names}`]),
  ]);
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
  return files;
}
