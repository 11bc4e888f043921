// Node's HTTP parser as a program: responds to each request with its parsed form.

import { createServer } from "node:http";
import { MIMEType } from "node:util";

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const { method, url, headers } = request;
    const { authorization } = headers;
    const mediaType = mediaTypeOf(headers["content-type"]);
    const body = Buffer.concat(chunks).toString("base64");
    const understood = JSON.stringify({ method, url, authorization, mediaType, body });
    response.statusCode = isFramed(request) ? 200 : 400;
    response.setHeader("Content-Length", Buffer.byteLength(understood));
    response.end(understood);
  });
  request.on("error", () => response.destroy());
});
server.listen(0, "127.0.0.1", () => process.stdout.write(`http://127.0.0.1:${server.address().port}\n`));

function mediaTypeOf(contentType) {
  try {
    const { essence, params } = new MIMEType(contentType);
    return { essence, charset: params.get("charset")?.toLowerCase() };
  } catch {
    return undefined;
  }
}

/** Node accepts HTTP/0.9 and HTTP/2.0 as versions of HTTP/1, and chunks in 1.0, contrary to RFC 9112 (6.1). */
function isFramed({ httpVersion, headers }) {
  return httpVersion === "1.1" || (httpVersion === "1.0" && headers["transfer-encoding"] === undefined);
}
