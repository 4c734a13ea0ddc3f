/**
 * Whether a topic filter with `+` and `#` matches a topic (MQTT 5.0, section 4.7). Every delivery is compared with every
 * subscription of its receiver, so nothing is taken apart for it.
 */
export function matchesFilter(filter: string, topic: string): boolean {
  if (filter === topic) return true
  // A wildcard at the start does not match topics of the broker itself (section 4.7.2).
  if (topic.startsWith('$') && (filter.startsWith('#') || filter.startsWith('+'))) return false
  let at = 0
  let from = 0
  for (;;) {
    if (filter[from] === '#') return true
    const to = endOfLevel(topic, at)
    const until = endOfLevel(filter, from)
    if (filter[from] === '+') at = to
    else if (until - from === to - at && topic.startsWith(filter.slice(from, until), at)) at = to
    else return false
    // `a/#` matches `a` as well (section 4.7.1.2).
    if (at === topic.length) return until === filter.length || filter.slice(until) === '/#'
    if (until === filter.length) return false
    at++
    from = until + 1
  }
}

function endOfLevel(text: string, from: number): number {
  const end = text.indexOf('/', from)
  return end < 0 ? text.length : end
}
