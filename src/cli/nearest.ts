/** Maximum number of changed characters of a misspelt name. */
const MAX_DISTANCE = 2

/** Returns the name that a misspelt name most likely means, also for another spelling such as `maxKeys`. */
export function nearest(name: string, names: readonly string[]): string | undefined {
  const wanted = normalized(name)
  const [best] = names
    .map(candidate => ({ candidate, distance: editDistance(wanted, normalized(candidate)) }))
    .filter(({ distance }) => distance <= MAX_DISTANCE)
    .sort((a, b) => a.distance - b.distance)
  return best?.candidate
}

const normalized = (name: string): string => name.replaceAll(/[-_]/g, '').toLowerCase()

/** Returns the number of characters to insert, delete or replace (Levenshtein distance). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, char] of Array.from(a).entries()) {
    const next = [i + 1]
    for (let j = 1; j <= b.length; j++) {
      const [left = 0, above = 0, diagonal = 0] = [next[j - 1], row[j], row[j - 1]]
      next.push(Math.min(left + 1, above + 1, diagonal + (char === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
