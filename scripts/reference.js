// Arranges a page that TypeDoc has generated: groups the items by subject instead of by kind, puts the example of each
// item first, and removes members that only the package itself uses.

/**
 * A heading and all content below it.
 *
 * @typedef {{ title: string, level: number, anchors: string[], body: string[], children: Section[] }} Section
 * @typedef {readonly (readonly [title: string, names: readonly string[]])[]} Groups
 */

const ANCHOR = /^<a id="[^"]+"><\/a>$/
/** Headings of links between a class and the types that it extends or implements, which the signatures also show. */
const REPEATED = new Set(['Overrides', 'Inherited from', 'Implementation of', 'Implements'])
const BY_KIND = ['Functions', 'Classes', 'Variables', 'Interfaces', 'Type Aliases']
const ERRORS = 'Errors'

/** @param {string} title @param {number} level @param {string[]} anchors @returns {Section} */
const sectionOf = (title, level, anchors) => ({ title, level, anchors, body: [], children: [] })

/** @param {string} markdown @returns {Section} */
function parse(markdown) {
  const root = sectionOf('', 0, [])
  /** @type {Section[]} */
  const open = [root]
  /** @type {string[]} */
  let anchors = []
  let isCode = false
  for (const line of markdown.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode
    const [, hashes = '', title = ''] = (isCode ? null : /^(#+) (.+)$/.exec(line)) ?? []
    if (hashes !== '') {
      while ((open.at(-1)?.level ?? 0) >= hashes.length) open.pop()
      const section = sectionOf(title, hashes.length, anchors)
      anchors = []
      open.at(-1)?.children.push(section)
      open.push(section)
    } else if (!isCode && ANCHOR.test(line)) anchors.push(line)
    else if (isCode || line !== '***') open.at(-1)?.body.push(line)
  }
  return root
}

/** @param {Section} section @returns {string} */
function print({ title, level, anchors, body, children }) {
  const heading = `${'#'.repeat(level)} ${title}`
  return [...anchors, heading, body.join('\n').trim(), ...children.map(print)].filter(part => part !== '').join('\n\n')
}

/** @param {Section} section */
const isDescribed = ({ body }) =>
  body
    .join('\n')
    .replace(/```[\s\S]*?```/g, '')
    .trim() !== ''

const MEMBERS = ['Properties', 'Accessors', 'Methods']
/**
 * Returns whether a member is inherited from a class on this page, with which it is shown. Options are shown with all
 * interfaces that have them.
 *
 * @param {Section} section @returns {boolean}
 */
const isInherited = ({ title, body, children }) =>
  title === 'Inherited from' ? body.join('').includes('](#') : children.length > 0 && children.some(isInherited)

/**
 * Returns whether a member is of no use to users: a member keyed by a symbol of the package, or a constructor that has
 * no comment or whose comment names a better way.
 *
 * @param {Section} section
 */
const isInternal = section =>
  /^\\\[[A-Z]+\\\]$/.test(section.title) ||
  (section.title === 'Constructors' &&
    !section.children.some(made => isDescribed(made) && !print(made).includes('\nUse [')))

/** Removes repeated comments. Overloads share a comment, which only the first one shows. @param {Section[]} children */
function withoutRepeats(children) {
  const described = (/** @type {Section} */ section) => [
    section.body.join('\n').replace(/^\s*```[\s\S]*?```/, ''),
    ...section.children.filter(({ title }) => title === 'Example').map(print),
  ]
  const [first, ...others] = children.filter(({ title }) => title === 'Call Signature')
  for (const other of others) {
    if (first === undefined || described(first).join() !== described(other).join()) continue
    other.body = other.body.join('\n').match(/^\s*```[\s\S]*?```/) ?? []
    other.children = other.children.filter(({ title }) => title !== 'Example')
  }
}

/** @param {Section} section @returns {Section} */
function cleaned(section) {
  const isBehaviour = ['Accessors', 'Methods'].includes(section.title)
  const children = section.children
    .filter(child => !REPEATED.has(child.title) && !isInternal(child) && !(isBehaviour && isInherited(child)))
    .map(cleaned)
  const hadChildren = (/** @type {Section} */ child) => !MEMBERS.includes(child.title) || child.children.length > 0
  withoutRepeats(children)
  const isExample = (/** @type {Section} */ { title }) => title === 'Example'
  return {
    ...section,
    children: [...children.filter(isExample), ...children.filter(child => !isExample(child) && hadChildren(child))],
  }
}

/**
 * Returns the name of an item from its heading, such as `` `abstract` StoreView `` or `connect()`.
 *
 * @param {Section} section
 */
const nameOf = ({ title }) => title.replace(/^.* /, '').replace('()', '')

/**
 * Returns the page with its items in groups. Items without a group follow: first errors, then the others by kind.
 *
 * @param {string} markdown @param {{ entry: string, guide: string, groups: Groups }} page
 */
export function arrange(markdown, { entry, guide, groups }) {
  const kinds = parse(markdown).children.flatMap(({ children }) => children)
  const order = BY_KIND.flatMap(kind => kinds.filter(({ title }) => title === kind)).flatMap(({ children }) => children)
  const items = new Map(order.map(item => [nameOf(item), cleaned(item)]))
  const named = groups.flatMap(([, names]) => names)
  const lost = named.filter(name => !items.has(name))
  if (lost.length > 0) throw new Error(`${entry} does not export ${lost.join(', ')}: correct site/parts.js`)
  const rest = Array.from(items.keys()).filter(name => !named.includes(name))
  const isError = (/** @type {string} */ name) => name.endsWith('Error')
  const all = [
    ...groups,
    [ERRORS, rest.filter(isError)],
    [groups.length > 0 ? 'Types' : 'API', rest.filter(name => !isError(name))],
  ]
  const printed = all.flatMap(([title, names]) => {
    const found = Array.from(names).flatMap(name => items.get(name) ?? [])
    return found.length === 0 ? [] : [`## ${title}`, ...found.map(print)]
  })
  const references = kinds.filter(({ title }) => title === 'References').flatMap(({ children }) => children.map(print))
  const also = references.length === 0 ? [] : ['## Also exported', ...references]
  return `${[`# ${entry}`, `Guide: [${guide}](/${guide}.md).`, ...printed, ...also].join('\n\n')}\n`
}
