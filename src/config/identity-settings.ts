// Settings of an identity provider whose JWTs are accepted beside the store's own tokens.

import { setting } from "./setting.ts";
import { readConfidentialUrl, readInteger, readIssuer, readText } from "./values.ts";

export const identitySettings = {
  jwtIssuer: setting<string | undefined>({
    flag: "--jwt-issuer <url>",
    environment: "PLANTSTORE_JWT_ISSUER",
    description: "identity provider whose JWTs are accepted as well: their iss, to the last character",
    parse: readIssuer,
  }),
  jwtAudience: setting<string | undefined>({
    flag: "--jwt-audience <text>",
    environment: "PLANTSTORE_JWT_AUDIENCE",
    description: "what the aud of those JWTs must be, or hold",
    parse: readText,
  }),
  jwksUrl: setting<string | undefined>({
    flag: "--jwks-url <url>",
    environment: "PLANTSTORE_JWKS_URL",
    description: "where the identity provider's keys are; found by OpenID discovery if left out",
    parse: readConfidentialUrl,
  }),
  jwksAgeSecondsMax: setting({
    flag: "--jwks-age-seconds-max <seconds>",
    environment: "PLANTSTORE_JWKS_AGE_SECONDS_MAX",
    default: 300,
    description: "age at which the identity provider's keys are read again, so that a removed one ends",
    parse: readInteger(1, 86_400),
  }),
};
