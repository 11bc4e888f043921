// The lines of the log as JSON.

import { errorRegistry, isErrorCode } from "../contract/errors.ts";
import type { LineFormat } from "./log-lines.ts";

export const jsonFormat: LineFormat = {
  request(request, suppressed, time) {
    const { requestId, method, path, status, result, message, caller, startedAt, endedAt } = request;
    const fields = {
      requestId,
      method,
      path,
      status,
      ...(isErrorCode(result) ? { error: errorRegistry[result].error, message } : { result }),
      token: caller,
      ms: Number((endedAt - startedAt).toFixed(3)),
      suppressed,
    };
    return this.event({ level: "info", message: `${method} ${path} ${status}`, fields }, time);
  },
  event({ level, fields, message: msg }, time) {
    return JSON.stringify({ level, time, ...fields, msg });
  },
};
