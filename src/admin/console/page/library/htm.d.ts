// The types of htm, which is served under this name as it is.
export { default } from "htm";
