// Dredd: sends the token, and asks the sandbox for the response that each transaction expects.

const hooks = require("hooks");

hooks.beforeEach(({ request, expected }) => {
  // Dredd expects 200 of the default response, which is an error with any other status.
  if (expected.statusCode === "200" && "error" in JSON.parse(expected.body)) expected.statusCode = "418";
  request.headers.Authorization = "Bearer sandbox";
  if (expected.statusCode !== "200") request.headers.Prefer = `code=${expected.statusCode}`;
});
