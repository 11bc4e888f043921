// Removes passwords from text before it is printed or logged.

/**
 * The text with *** for the password of every URL in it: from the colon after the user to the last
 * @ before a space, because a password that was not percent-encoded may contain an @.
 */
export function redactPasswords(text: string): string {
  return text.replace(/(:\/\/[^\s:/@]*:)\S*@/g, "$1***@");
}

/** A URL with *** for its password: up to the last @, because it may contain a space as well. */
export function redactUrl(url: string): string {
  return url.replace(/(:\/\/[^:/@]*:).*@/s, "$1***@");
}
