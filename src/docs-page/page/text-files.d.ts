/** Imported as its text. */
declare module "*/page.js" {
  const text: string;
  export default text;
}
