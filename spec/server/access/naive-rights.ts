import type { Subject } from '../../../src/server/access/template.js'

export interface PlainRule {
  readonly principals: {
    readonly usernames?: readonly string[]
    readonly clientIds?: readonly string[]
    readonly attributes?: readonly Readonly<Record<string, string>>[]
  }
  readonly brokerResources?: readonly { method: string; clientIds?: readonly string[]; topics?: readonly string[] }[]
  readonly stateStoreResources?: readonly { method: string; keyType: string; keys: readonly string[] }[]
}

export type Question = { readonly what: 'Connect' | 'Publish' | 'Subscribe' | 'Read' | 'Write'; readonly name: string }

/** Evaluates a policy by regular expressions and enumeration, and shares no code with the tested implementation. */
export function isAllowedNaively(rules: readonly PlainRule[], subject: Subject, { what, name }: Question): boolean {
  return rules
    .filter(rule => appliesTo(rule, subject))
    .some(rule => {
      const resources =
        what === 'Read' || what === 'Write' ? (rule.stateStoreResources ?? []) : (rule.brokerResources ?? [])
      return resources.some(resource => {
        if ('keyType' in resource) {
          if (!resource.method.includes(what)) return false
          return resource.keys.some(key => keyMatches(resource.keyType, key, subject, name))
        }
        if (resource.method !== what) return false
        if (what !== 'Connect') return (resource.topics ?? []).some(topic => topicMatches(topic, subject, name))
        const ids = resource.clientIds ?? []
        return ids.length === 0 || ids.some(id => globMatches(id, subject, subject.clientId))
      })
    })
}

function appliesTo({ principals }: PlainRule, { username, clientId, attributes = {} }: Subject): boolean {
  const { usernames = [], clientIds = [], attributes: maps = [] } = principals
  if (clientIds.includes(clientId) || (username !== undefined && usernames.includes(username))) return true
  const mine = new Map(Object.entries(attributes))
  return maps.some(map => Object.keys(map).filter(name => mine.get(name) !== map[name]).length === 0)
}

const PLACES = /\{principal\.([a-zA-Z.]+)\}/g

/** Fills placeholders with `quote(value)`. Returns undefined if a value is missing or has `/`, `+` or `#`. */
function fillPlaceholders(text: string, subject: Subject, quote: (value: string) => string): string | undefined {
  let isIncomplete = false
  const whole = text.replace(PLACES, (_, place: string) => {
    const attribute = place.split('.')[1] ?? ''
    const value =
      place === 'clientId'
        ? subject.clientId
        : place === 'username'
          ? subject.username
          : subject.attributes?.[attribute]
    if (value === undefined || value === '' || ['/', '+', '#'].some(sign => value.includes(sign))) isIncomplete = true
    return quote(value ?? '')
  })
  return isIncomplete ? undefined : whole
}

// Supports only the syntax that the generators produce: `*`, `?`, two classes and an escaped star.
function globMatches(glob: string, subject: Subject, name: string): boolean {
  const classes = glob.replaceAll('[ab]', '\u0003').replaceAll('[^a]', '\u0004').replaceAll('\\*', '\u0001')
  const marked = fillPlaceholders(classes, subject, value => value.replaceAll('*', '\u0001').replaceAll('?', '\u0002'))
  if (marked === undefined) return false
  const source = marked
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '[^]*')
    .replaceAll('?', '[^]')
    .replaceAll('\u0001', '\\*')
    .replaceAll('\u0002', '\\?')
    .replaceAll('\u0003', '[ab]')
    .replaceAll('\u0004', '[^a]')
  return new RegExp(`^${source}$`).test(name)
}

function keyMatches(type: string, key: string, subject: Subject, name: string): boolean {
  if (type === 'Pattern') return globMatches(key, subject, name)
  return (
    (type === 'String' ? fillPlaceholders(key, subject, value => value) : Buffer.from(key, 'base64').toString()) ===
    name
  )
}

const LEVELS = ['a', 'b', 'c', '$x', '', 'new']

/** Allows a filter if every matching topic is allowed, among all topics with the levels in use and one unused level. */
function topicMatches(topic: string, subject: Subject, filter: string): boolean {
  const pattern = fillPlaceholders(topic, subject, value => value)
  if (pattern === undefined) return false
  const topics = allTopics(5).filter(candidate => matches(filter, candidate))
  return topics.length > 0 && topics.every(candidate => matches(pattern, candidate))
}

let cache: string[] | undefined
function allTopics(depth: number): string[] {
  if (cache) return cache
  let rows: string[][] = [[]]
  const all: string[] = []
  for (let i = 0; i < depth; i++) {
    rows = rows.flatMap(row => LEVELS.map(level => [...row, level]))
    all.push(...rows.map(row => row.join('/')).filter(text => text !== ''))
  }
  cache = all
  return all
}

function matches(filter: string, topic: string): boolean {
  if (topic.startsWith('$') && /^[+#]/.test(filter)) return false
  const source = filter
    .split('/')
    .map((level, index) => {
      if (level === '#') return index === 0 ? '.*' : '(/.*)?'
      return (index === 0 ? '' : '/') + (level === '+' ? '[^/]*' : level.replace(/[$*?[\]\\^]/g, '\\$&'))
    })
    .join('')
  return new RegExp(`^${source}$`).test(topic)
}
