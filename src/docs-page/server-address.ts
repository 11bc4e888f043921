// Stands in for the address of the server in the description until a client asks for
// them.

/** Stands for the address of this server until the document is sent. */
export const placeholder = "http://address-of-this-server.invalid";

/** Escapes what JSON, YAML or a shell would read otherwise in a URL (RFC 3986, section 2.1). */
export function escapeUrl(url: string): string {
  return url.replace(
    /["'$\\`<>\s]/g,
    (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`,
  );
}
