/** Imported as its text. */
declare module "*.yaml" {
  const text: string;
  export default text;
}
