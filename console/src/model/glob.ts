/**
 * Converts the search text to a glob: text with wildcards is used unchanged, and a plain word matches anywhere in a
 * key.
 */
export function toGlob(typed: string): string {
  if (typed === '') return '*'
  return /[*?[]/.test(typed) ? typed : `*${typed.replaceAll('\\', '\\\\')}*`
}
