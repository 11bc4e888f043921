// The types of uPlot.
export { default } from "uplot";
