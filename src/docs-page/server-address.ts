// The address of the server in the description: a placeholder until a client asks for it.

/** The address that is replaced by this server's when the document is sent. */
export const placeholder = "http://address-of-this-server.invalid";

/** Puts the address of the server in the place of the placeholder. */
export function withAddress(text: string, url: string): string {
  return text.replaceAll(placeholder, () => escapeUrl(url));
}

/** Escapes what JSON, YAML or a shell would read otherwise in a URL (RFC 3986, section 2.1). */
function escapeUrl(url: string): string {
  return url.replace(
    /["'$\\`<>\s]/g,
    (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`,
  );
}
