/** Paths of files by the URL path below that of the console. */
export declare const pageFiles: ReadonlyMap<string, string>;
