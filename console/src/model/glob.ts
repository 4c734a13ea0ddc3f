/** The glob for what was typed: one with wildcards as it is; a word without them is looked for anywhere in a key. */
export function toGlob(typed: string): string {
  if (typed === '') return '*'
  return /[*?[]/.test(typed) ? typed : `*${typed.replaceAll('\\', '\\\\')}*`
}
