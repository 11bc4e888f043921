// What is used of istanbul-lib-instrument, which brings no types.

declare module "istanbul-lib-instrument" {
  export function createInstrumenter(options: {
    readonly esModules: boolean;
    readonly compact: boolean;
    readonly coverageVariable: string;
  }): { instrumentSync(code: string, filename: string): string };
}
