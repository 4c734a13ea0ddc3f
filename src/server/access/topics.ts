/** Levels of a topic or filter. */
export type Levels = readonly string[]

/**
 * Whether everything that a filter matches is matched by a pattern, too, which is a filter as well (MQTT 5.0, section 4.7).
 * For a topic, which has no wildcards, it is whether the pattern matches.
 *
 * @example
 * ```ts
 * covers(['sensors', '#'], ['sensors', '+', 'on']) // true
 * covers(['sensors', '+'], ['sensors', '#']) // false
 * ```
 */
export function covers(pattern: Levels, filter: Levels): boolean {
  // A wildcard at the start does not match topics of the broker itself (section 4.7.2).
  if (filter[0]?.startsWith('$') && (pattern[0] === '#' || pattern[0] === '+')) return false
  for (let at = 0; ; at++) {
    const wanted = pattern[at]
    // `a/#` matches `a` as well (section 4.7.1.2).
    if (wanted === '#') return true
    const level = filter[at]
    if (wanted === undefined || level === undefined) return wanted === level
    // Every topic has a first level.
    if (level === '#') return at === 0 && wanted === '+' && pattern[1] === '#'
    if (wanted !== '+' && wanted !== level) return false
  }
}

/** Text in a topic: one with wildcards cannot be part of any. */
export const literalTopic = (text: string): string | undefined => (/[+#\0]/.test(text) ? undefined : text)
