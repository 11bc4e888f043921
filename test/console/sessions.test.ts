// Who has tried to log in, and how often.

import { expect, test } from "bun:test";
import { Sessions } from "../../src/admin/console/sessions.ts";
import { randomBytes } from "../../src/tokens/token.ts";

test("many addresses that guess at once are refused, and do not queue up before who knows the password", async () => {
  const passwordHash = await Bun.password.hash("four random words it is", {
    algorithm: "argon2id",
    memoryCost: 8,
    timeCost: 1,
  });
  const sessions = new Sessions({ passwordHash, now: () => 0, randomBytes });
  const guesses = Array.from({ length: 500 }, (_, index) =>
    sessions.logIn("wrong", `2001:db8::${index.toString(16)}`, false),
  );
  const outcomes = await Promise.all(guesses);
  expect(outcomes.filter((outcome) => outcome === "wrong").length).toBe(10);
  expect(outcomes.filter((outcome) => outcome === "tooMany").length).toBe(490);
  // Nobody who was refused like that has used up an attempt.
  expect(await sessions.logIn("four random words it is", "2001:db8::1f3", false)).toHaveProperty("cookie");
});
