// Types for the used part of istanbul-lib-instrument, which has none.

declare module "istanbul-lib-instrument" {
  export function createInstrumenter(options: {
    readonly esModules: boolean;
    readonly compact: boolean;
    readonly coverageVariable: string;
  }): { instrumentSync(code: string, filename: string): string };
}
