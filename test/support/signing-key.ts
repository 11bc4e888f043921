// A key that signs JWTs with node:crypto alone, so that signing and verification share no code.

import { constants, generateKeyPairSync, type KeyObject, sign } from "node:crypto";

export type Algorithm =
  | `RS${256 | 384 | 512}`
  | `PS${256 | 384 | 512}`
  | `ES${256 | 384 | 512}`
  | "EdDSA"
  | "Ed25519";

export type Json = Record<string, unknown>;

const curves: Record<string, string> = { ES256: "P-256", ES384: "P-384", ES512: "P-521" };

/** Base64url of bytes, or of a value's JSON. */
export function encode(value: Json | Buffer | string): string {
  return Buffer.isBuffer(value) || typeof value === "string"
    ? Buffer.from(value).toString("base64url")
    : Buffer.from(JSON.stringify(value)).toString("base64url");
}

export class SigningKey {
  readonly algorithm: Algorithm;
  readonly kid: string;
  readonly publicKey: KeyObject;
  readonly #privateKey: KeyObject;

  constructor(algorithm: Algorithm = "ES256", kid: string = crypto.randomUUID(), rsaBits = 2_048) {
    const pair = newPair(algorithm, rsaBits);
    this.algorithm = algorithm;
    this.kid = kid;
    this.publicKey = pair.publicKey;
    this.#privateKey = pair.privateKey;
  }

  /** The public key as a JSON Web Key. */
  get jwk(): Json {
    return { ...this.publicKey.export({ format: "jwk" }), kid: this.kid, alg: this.algorithm, use: "sig" };
  }

  /** The private key as a JSON Web Key, for a provider. */
  get privateJwk(): Json {
    return { ...this.jwk, ...this.#privateKey.export({ format: "jwk" }) };
  }

  /** A JWT of claims, or of any text as its payload; undefined leaves a header parameter out. */
  sign(claims: Json | string, header: Json = {}): string {
    const input = `${encode({ alg: this.algorithm, typ: "at+jwt", kid: this.kid, ...header })}.${encode(claims)}`;
    return `${input}.${encode(this.#signature(Buffer.from(input)))}`;
  }

  #signature(input: Buffer): Buffer {
    const key = this.#privateKey;
    const hash = `sha${this.algorithm.slice(2)}`;
    if (this.algorithm.startsWith("E") && curves[this.algorithm] === undefined) return sign(null, input, key);
    if (this.algorithm.startsWith("ES")) return sign(hash, input, { key, dsaEncoding: "ieee-p1363" });
    if (this.algorithm.startsWith("RS")) return sign(hash, input, key);
    const saltLength = constants.RSA_PSS_SALTLEN_DIGEST;
    return sign(hash, input, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });
  }
}

function newPair(algorithm: Algorithm, rsaBits: number): { publicKey: KeyObject; privateKey: KeyObject } {
  const namedCurve = curves[algorithm];
  if (namedCurve !== undefined) return generateKeyPairSync("ec", { namedCurve });
  if (algorithm.startsWith("E")) return generateKeyPairSync("ed25519");
  return generateKeyPairSync("rsa", { modulusLength: rsaBits });
}
