// Self-signed certificates from openssl.

import { programPath } from "./programs.ts";
import type { TemporaryFolder } from "./server.ts";

/** Makes NAME.crt and NAME.key in a folder; the paths of both. */
export function makeCertificate(
  folder: TemporaryFolder,
  name: string,
  subject: string,
  ...names: string[]
): { certificate: string; key: string } {
  const files = { certificate: folder.file(`${name}.crt`), key: folder.file(`${name}.key`) };
  // As certbot makes them; an RSA key takes 0.1 s of a processor.
  const kind = "-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2".split(" ");
  const extension = names.length === 0 ? [] : ["-addext", `subjectAltName=${names.join(",")}`];
  const paths = ["-keyout", files.key, "-out", files.certificate];
  const made = Bun.spawnSync([
    programPath("openssl"),
    "req",
    ...kind,
    "-subj",
    subject,
    ...extension,
    ...paths,
  ]);
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
  return files;
}
