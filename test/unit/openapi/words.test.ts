// The words of a resource in sentences: singular forms, and articles.

import { expect, test } from "bun:test";
import { withArticle, wordsOf } from "../../../src/contract/words.ts";

test.each(
  Object.entries({
    boxes: "box",
    branches: "branch",
    classes: "class",
    cities: "city",
    heroes: "hero",
    houses: "house",
    movies: "movie",
    news: "news",
    olives: "olive",
    people: "person",
    purchases: "purchase",
    "sales-people": "sales person",
    series: "series",
    species: "species",
    staff: "staff",
    status: "status",
    statuses: "status",
    "train-trips": "train trip",
    uses: "use",
    valves: "valve",
  }),
)("one of /%s is a %s", (many, one) => {
  expect(wordsOf(`/v1/${many}`, { body: undefined, response: undefined }).one).toBe(one);
});

test("a schema that is named after all of them names one of them", () => {
  const names = { body: undefined, response: "ssh_keys" };
  expect(wordsOf("/account/keys", names)).toMatchObject({ one: "ssh key", many: "keys" });
});

test.each(
  ["a European", "a hat", "a one-off", "a plant", "a unit", "a URL", "a user", "a utility"].concat(
    "an address, an Error, an hour, an ssh key, an order, an uncle, an usher".split(", "),
  ),
)("%s", (text) => {
  expect(withArticle(text.slice(text.indexOf(" ") + 1))).toBe(text);
});
