// The address of the server in the description and the page: a placeholder until a client asks for
// them.

/** The address that is replaced by this server's when the document is sent. */
export const placeholder = "http://address-of-this-server.invalid";

/** The start of each relative link of the page, which is replaced when the page is sent. */
export const prefixPlaceholder = "prefix-of-this-page.invalid/";

/** Escapes what JSON, YAML or a shell would read otherwise in a URL (RFC 3986, section 2.1). */
export function escapeUrl(url: string): string {
  return url.replace(
    /["'$\\`<>\s]/g,
    (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`,
  );
}
