/** Files that are imported as their path, which is valid in a compiled executable, too. */
declare module "*.css" {
  const path: string;
  export default path;
}

declare module "*.svg" {
  const path: string;
  export default path;
}
