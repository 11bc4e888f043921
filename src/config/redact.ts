// Text for people to read, without the passwords that it may hold.

/**
 * The text with *** for the password of every address in it: all from the colon after the user to the last @ before
 * a space, as a password that should have been percent-encoded may hold an @ itself.
 */
export function redactPasswords(text: string): string {
  return text.replace(/(:\/\/[^\s:/@]*:)\S*@/g, "$1***@");
}
