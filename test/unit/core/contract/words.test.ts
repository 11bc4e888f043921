// The words of a resource in sentences: singular forms, and articles.

import { expect, test } from "bun:test";
import { withArticle, wordsOf } from "../../../../src/core/contract/words.ts";

test.each(
  Object.entries({
    aliases: "alias",
    boxes: "box",
    branches: "branch",
    caches: "cache",
    children: "child",
    classes: "class",
    cities: "city",
    houses: "house",
    knives: "knife",
    lives: "life",
    menus: "menu",
    movies: "movie",
    news: "news",
    olives: "olive",
    people: "person",
    pies: "pie",
    potatoes: "potato",
    purchases: "purchase",
    "sales-people": "sales person",
    series: "series",
    shelves: "shelf",
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

test.each(
  ["a European", "a hat", "a one-off", "a plant", "a unit", "a URL", "a user", "a utility"].concat(
    "an address, an Error, an heir, an honour, an hour, an order, an uncle, an uninvited guest, an usher".split(
      ", ",
    ),
  ),
)("%s", (text) => {
  expect(withArticle(text.slice(text.indexOf(" ") + 1))).toBe(text);
});
