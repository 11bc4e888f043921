// Settings that bound what a server takes on, and what happens past each bound.

import { setting } from "./setting.ts";
import { readInteger } from "./values.ts";

const MiB = 2 ** 20;

export const limitSettings = {
  bodyBytesMax: setting({
    flag: "--body-bytes-max <bytes>",
    environment: "PLANTSTORE_BODY_BYTES_MAX",
    default: MiB,
    description: "largest body that is read; one over it is refused with 413",
    // SQLite holds strings of up to 10^9 bytes.
    parse: readInteger(1, 512 * MiB),
  }),
  queuePlantsMax: setting({
    flag: "--queue-plants-max <plants>",
    environment: "PLANTSTORE_QUEUE_PLANTS_MAX",
    default: 10_000,
    description: "plants that may wait for a commit; one more is refused with 503",
    parse: readInteger(1, 1_000_000),
  }),
  tokenRate: setting({
    flag: "--token-rate <creates>",
    environment: "PLANTSTORE_TOKEN_RATE",
    default: 0,
    description: "creates that a token may send in a second, one more is refused with 429; 0 is any number",
    parse: readInteger(0, 1_000_000),
  }),
  tokenBurst: setting<number | undefined>({
    flag: "--token-burst <creates>",
    environment: "PLANTSTORE_TOKEN_BURST",
    description:
      "creates that a token may send at once, within its rate over a longer time; its rate if left out",
    parse: readInteger(1, 100_000_000),
  }),
  inFlightBytesMax: setting({
    flag: "--in-flight-bytes-max <bytes>",
    environment: "PLANTSTORE_IN_FLIGHT_BYTES_MAX",
    default: 64 * MiB,
    description: "memory for the bodies that are on their way; what comes past it is refused with 503",
    parse: readInteger(1, 64 * 1_024 * MiB),
  }),
  arrivalSecondsMax: setting({
    flag: "--arrival-seconds-max <seconds>",
    environment: "PLANTSTORE_ARRIVAL_SECONDS_MAX",
    default: 20,
    description: "time for the body of a request to arrive; one that takes longer is refused with 408",
    parse: readInteger(1, 240),
  }),
  connectionsMax: setting({
    flag: "--connections-max <connections>",
    environment: "PLANTSTORE_CONNECTIONS_MAX",
    default: 10_000,
    description:
      "connections that may be open; past it idle ones are closed, and others after their next answer",
    parse: readInteger(1, 1_000_000),
  }),
  drainSecondsMax: setting({
    flag: "--drain-seconds-max <seconds>",
    environment: "PLANTSTORE_DRAIN_SECONDS_MAX",
    default: 10,
    description: "time for accepted requests to be answered when the server stops",
    parse: readInteger(0, 3_600),
  }),
};
