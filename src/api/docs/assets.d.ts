/** Files that are imported by their path: what the import gives is where the file is, in a compiled executable too. */
declare module "*.gz" {
  const path: string;
  export default path;
}

declare module "*/start.js" {
  const path: string;
  export default path;
}
