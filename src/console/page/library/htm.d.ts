// The types of htm.
export { default } from "htm";
