// The public port of a sandbox: a recorder, in front of the server's own listener on a port of the loopback interface.

import type { RunningServer } from "../core/server.ts";
import { type RecorderOptions, startRecorder } from "./recorder.ts";

export interface RecordedListener {
  /** Without a path. */
  readonly origin: string;
  /** Stops the server and then the recorder, so that responses which are on their way arrive. */
  stop(): Promise<void>;
}

/** Throws the error of Bun.listen if the address cannot be bound. */
export function startRecordedListener(
  server: Pick<RunningServer, "url" | "stop">,
  options: Omit<RecorderOptions, "serverPort">,
): RecordedListener {
  const recorder = startRecorder({ ...options, serverPort: Number(new URL(server.url).port) });
  return {
    origin: recorder.origin,
    async stop() {
      recorder.stopAccepting();
      await server.stop();
      await recorder.stop();
    },
  };
}
