/** A file that is imported as its path, which is valid in a compiled executable, too. */
declare module "*/page.js" {
  const path: string;
  export default path;
}
