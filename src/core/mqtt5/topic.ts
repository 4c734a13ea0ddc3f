import { utf8 } from '../util/bytes.js'
import { protocolError } from './packet-error.js'

/**
 * Returns whether a topic name is valid, which means not empty and without wildcards (MQTT 5.0, sections 4.7.1 and
 * 4.7.3).
 */
export const isTopicName = (text: string): boolean => text !== '' && !text.includes('#') && !text.includes('+')

/** Prefix of a shared subscription (MQTT 5.0, section 4.8.2). */
export const SHARE_PREFIX = '$share/'

/**
 * Returns whether a topic filter is valid. `#` must be the last level and `+` a whole level (MQTT 5.0, section 4.7.1).
 * A shared subscription must have a name without wildcards, followed by a filter (section 4.8.2).
 */
export function isTopicFilter(text: string): boolean {
  if (!text.startsWith(SHARE_PREFIX)) return hasWildcardsInPlace(text)
  const end = text.indexOf('/', SHARE_PREFIX.length)
  return end > 0 && isTopicName(text.slice(SHARE_PREFIX.length, end)) && hasWildcardsInPlace(text.slice(end + 1))
}

function hasWildcardsInPlace(filter: string): boolean {
  if (filter === '') return false
  // A search is much faster than a loop over characters, and most filters contain no wildcards.
  if (!/[#+]/.test(filter)) return true
  for (let at = 0; at < filter.length; at++) {
    const character = filter[at]
    if (character !== '#' && character !== '+') continue
    const next = at + 1
    if (at > 0 && filter[at - 1] !== '/') return false
    if (next < filter.length && (character === '#' || filter[next] !== '/')) return false
  }
  return true
}

/** Throws unless a topic or response topic is valid (MQTT 5.0, sections 3.3.2.1 and 3.3.2.3.5). */
export function checkTopicName(topic: string): void {
  if (!isTopicName(topic)) throw protocolError('A topic name is empty or contains wildcards')
}

/** Maximum length of a topic at EMQX 4, bytes of UTF-8. */
export const MAX_PUBLISHABLE_BYTES = 4_096
/**
 * Control characters, non-characters and surrogates, for which a receiver may end the connection (MQTT 5.0, section
 * 1.5.4).
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
const FORBIDDEN_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\ufdd0-\ufdef]|[\ufffe\uffff]|\p{Cs}/u

/** Returns whether every broker that allows this many levels can be expected to accept the topic. */
export function isPublishable(topic: string, maxLevels: number): boolean {
  if (!isTopicName(topic) || topic.split('/', maxLevels + 1).length > maxLevels) return false
  if (3 * topic.length > MAX_PUBLISHABLE_BYTES && utf8(topic).length > MAX_PUBLISHABLE_BYTES) return false
  return !FORBIDDEN_CHARACTERS.test(topic)
}
