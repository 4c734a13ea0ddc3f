/** Whether a topic filter with `+` and `#` matches a topic (MQTT 5.0, section 4.7). */
export function matchesFilter(filter: string, topic: string): boolean {
  if (filter === topic) return true
  const wanted = filter.split('/')
  const levels = topic.split('/')
  // A wildcard at the start does not match topics of the broker itself (section 4.7.2).
  if (topic.startsWith('$') && (wanted[0] === '#' || wanted[0] === '+')) return false
  for (const [i, level] of wanted.entries()) {
    if (level === '#') return true
    if (i >= levels.length || (level !== '+' && level !== levels[i])) return false
  }
  return wanted.length === levels.length
}
