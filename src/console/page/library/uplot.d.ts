// The types of uPlot, which a classic script defines as a global.
/// <reference types="uplot" />
