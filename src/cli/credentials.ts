/** Hides the user and the password of every address in a text: all that precedes the last `@` before the path. */
export const withoutCredentials = (text: string): string => text.replaceAll(/\/\/[^/\s]*@/g, '//***@')
