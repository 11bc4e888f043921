// Removes passwords from text before it is printed or logged.

/**
 * The text with *** for the password of every URL in it: all from the colon after the user to the last @ before a
 * space, because a password that should have been percent-encoded may contain an @ itself.
 */
export function redactPasswords(text: string): string {
  return text.replace(/(:\/\/[^\s:/@]*:)\S*@/g, "$1***@");
}

/** A text that is one URL, with *** for its password: all to the last @, because it may contain a space as well. */
export function redactUrl(url: string): string {
  return url.replace(/(:\/\/[^:/@]*:).*@/s, "$1***@");
}
