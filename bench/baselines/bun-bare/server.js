// A bare Bun.serve: reads the body and answers a constant, without a store and without a check. What any server on this
// runtime could reach at most. Serves on 127.0.0.1 until SIGTERM.

const { PORT = "8080", RESPONSE } = process.env;

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(PORT),
  fetch: async (request) => {
    await request.text();
    return new Response(RESPONSE, { headers: { "Content-Type": "application/json" } });
  },
});

process.once("SIGTERM", () => server.stop());
