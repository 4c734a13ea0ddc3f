import { LIMIT } from '../limits/limits.js'

/** V8 hashes longer texts by their length alone, so that an attacker could have all of them meet in one place of a `Map`; UTF-16 units. */
export const LONGEST_HASHED = 16_383
/** Comes in no topic (MQTT 5.0, section 1.5.4), so that a continued level is none of its own. */
const CONTINUED = '\0'

/**
 * The levels of a topic or filter (MQTT 5.0, section 4.7.1.1) as keys of a `Map`; a level that is too long for one key
 * has several.
 */
export function levelsOf(topic: string): string[] {
  const levels = topic.split('/')
  return topic.length <= LONGEST_HASHED ? levels : levels.flatMap(keysOf)
}

function keysOf(level: string): string[] {
  if (level.length <= LONGEST_HASHED) return [level]
  const keys = [level.slice(0, LONGEST_HASHED)]
  for (let at = LONGEST_HASHED; at < level.length; at += LONGEST_HASHED - 1)
    keys.push(CONTINUED + level.slice(at, at + LONGEST_HASHED - 1))
  return keys
}

/** Whether a key goes on with the level of the one before, so that a wildcard for that one stands for this, too. */
export const isContinued = (key: string | undefined): boolean => key?.startsWith(CONTINUED) ?? false

/** Whether a topic or filter has more levels than there may be. */
export const isTooDeep = (topic: string): boolean =>
  topic.length >= LIMIT.topicLevels && topic.split('/', LIMIT.topicLevels + 1).length > LIMIT.topicLevels
