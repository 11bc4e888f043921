/** Imported as its text. */
declare module "*/page.js" {
  const text: string;
  export default text;
}

/** Imported as its path. */
declare module "*.br" {
  const path: string;
  export default path;
}
