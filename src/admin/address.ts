// Where a request to the admin listener goes.

/**
 * The path and the parameters of a request; its host says nothing. Bun puts whatever Host a client sends in front of the
 * path, also one that no address may have.
 */
export function addressOf({ url }: Request): URL {
  const target = url.replace(/^https?:\/\/[^/?]*/i, "");
  return URL.parse(`http://localhost${target}`) ?? new URL("http://localhost/");
}
