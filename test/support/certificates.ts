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

/** Makes NAME.crt and NAME.key in a folder, with an EC key; the paths of both. */
export function makeCertificate(
  folder: TemporaryFolder,
  name: string,
  subject: string,
  ...names: string[]
): CertificateFiles {
  return makeCertificateOf("ec", folder, name, subject, ...names);
}

/** Like makeCertificate, with a key of a type. */
export function makeCertificateOf(
  keyType: KeyType,
  folder: TemporaryFolder,
  name: string,
  subject: string,
  ...names: string[]
): CertificateFiles {
  const files = { certificate: folder.file(`${name}.crt`), key: folder.file(`${name}.key`) };
  const kind = ["-x509", ...keyOptions[keyType], "-nodes", "-days", "2"];
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
