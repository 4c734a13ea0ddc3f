/** An address in a text, up to a space, a quote or the next address of a list. */
const ADDRESS = /\/\/(?:(?!,[a-z][a-z\d+.-]*:\/\/)[^\s"'`<>])+/gi

/**
 * Hides the user, the password and the values of query and fragment of every address in a text. A password may contain
 * any delimiter, so all that precedes the last `@` is hidden.
 */
export const withoutCredentials = (text: string): string =>
  text.replace(ADDRESS, address => address.replace(/\/\/.*@/, '//***@').replace(/([?&#][^=&#]*=)[^&#]*/g, '$1***'))
