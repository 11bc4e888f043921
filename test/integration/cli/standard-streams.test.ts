// bin/plantstore with standard streams that are closed or not writable.

import { plantstore } from "../../support/server.ts";
import { testStandardStreams } from "../../support/standard-streams.ts";

testStandardStreams(plantstore);
