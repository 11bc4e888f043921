/** Files that are imported by path: the default export is the path of the file, in a compiled executable as well. */
declare module "*.gz" {
  const path: string;
  export default path;
}

declare module "*/start.js" {
  const path: string;
  export default path;
}
