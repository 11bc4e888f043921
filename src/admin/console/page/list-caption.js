// What is said of a list of plants, and in place of an empty one.

import { foreign, html } from "./format.js";

/**
 * @typedef {import("./plants.js").Search} Search
 * @typedef {import("./plants.js").Listed} Listed
 */

/**
 * What a list is.
 *
 * @param {Search} asked
 * @param {Listed} listed
 * @param {(string | null)[]} places
 */
export function noteOn({ by, text }, { plants, order, from, next, searchedDownTo }, places) {
  const several = plants.length === 1 ? "1 plant" : `${plants.length} plants`;
  if (by === "newest" && from === "memory")
    return next === null
      ? `${several}: what this server created last, newest first. The index "newest" keeps the order of all.`
      : `${several}, newest first, of those that this server created last.`;
  if (by === "newest" && order === "id")
    return "No order of creation is known yet, so that these are the plants with the highest ids.";
  if (searchedDownTo !== null)
    return `${several} among the ids down to ${searchedDownTo}: without its index the search took too long to go on by itself.`;
  if (by === "id" && text !== "") return `${several} with this id.`;
  const orders = { newest: "newest first", id: "highest id first", name: "in the order of names" };
  return `${several} on page ${places.length}, ${orders[order]}.`;
}

/**
 * What is said in place of a list without plants.
 *
 * @param {Search} asked
 */
export function nothingFor({ by, text }) {
  if (by === "name") return html`No plant here has a name that begins with ${foreign(text)}.`;
  if (by === "tag") return html`No plant here has the tag ${foreign(text)}.`;
  if (by === "id" && text !== "") return `No plant has the id ${text}.`;
  return "There are no plants here yet. Add one, or send one to POST /plants.";
}
