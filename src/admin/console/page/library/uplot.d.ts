// The types of uPlot, which is served under this name as it is.
export { default } from "uplot";
