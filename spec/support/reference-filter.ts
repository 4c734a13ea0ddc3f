/** Returns whether a filter matches a topic, by the rules of MQTT 5.0, section 4.7, level by level. */
export function matchesByTheRules(filter: string, topic: string): boolean {
  const [wanted, levels] = [filter.split('/'), topic.split('/')]
  if (topic.startsWith('$') && /^[#+]/.test(filter)) return false
  for (const [i, level] of wanted.entries()) {
    if (level === '#') return true
    if (i >= levels.length || (level !== '+' && level !== levels[i])) return false
  }
  return wanted.length === levels.length
}
