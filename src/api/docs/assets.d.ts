/** Files that are imported as their path, which is valid in a compiled executable, too. */
declare module "*.gz" {
  const path: string;
  export default path;
}

declare module "*/start.js" {
  const path: string;
  export default path;
}
