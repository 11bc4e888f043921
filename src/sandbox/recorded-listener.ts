// The public listener of a sandbox: that of a server, on a port of the loopback interface, behind a recorder that has the
// public port.

import type { PublicHandler } from "../core/http/handler.ts";
import { type ListenerOptions, type PublicServer, startPublicListener } from "../core/http/listener.ts";
import { type Recorder, type RecorderOptions, startRecorder } from "./recorder.ts";

export interface RecordedListener extends PublicServer {
  /** Without a path. */
  readonly origin: string;
}

/** Throws the error of Bun.listen if the address cannot be bound. */
export function startRecordedListener(
  handler: PublicHandler,
  options: ListenerOptions,
  recording: Pick<RecorderOptions, "log" | "mark">,
): RecordedListener {
  const server = startPublicListener(handler, { ...options, host: "127.0.0.1", port: 0 });
  const { host, port } = options;
  const serverPort = Number(new URL(server.url).port);
  let recorder: Recorder;
  try {
    recorder = startRecorder({ ...recording, host, port, serverPort });
  } catch (error) {
    // It would keep the process running.
    void server.stop(0);
    throw error;
  }
  return {
    origin: recorder.origin,
    url: recorder.origin + handler.basePath,
    reloadCertificate: (certificate) => server.reloadCertificate(certificate),
    async stop(drainMsMax) {
      recorder.stopAccepting();
      await server.stop(drainMsMax);
      await recorder.stop();
    },
  };
}
