// Arranges what TypeDoc has generated: a page for each name, by subject instead of by kind, with the example first, and
// without members that only the package itself uses.

import { posix } from 'node:path'

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
const OVERLOAD = 'Call Signature'

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

/** Returns the title of a section, which is the call for an overload: `connect(url, options?)`. @param {Section} section */
function titleOf({ title, body }) {
  if (title !== OVERLOAD) return title
  const [, name, parameters = ''] = /^(?:function )?([\w$]+)(?:<[^(]*>)?\(([^)]*)\)/m.exec(body.join('\n')) ?? []
  const names = parameters.split(',').flatMap(parameter => parameter.trim() || [])
  return name === undefined ? title : `${name}(${names.join(', ')})`
}

/** @param {Section} section @returns {string} */
function print(section) {
  const { level, anchors, body, children } = section
  const heading = `${'#'.repeat(level)} ${titleOf(section)}`
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
 * Returns whether a section is of no use to users: a member keyed by a symbol of the package, a constructor that has no
 * comment or whose comment names a better way, or names of type parameters, which the signature also shows.
 *
 * @param {Section} section
 */
const isInternal = section =>
  /^\\\[[A-Z]+\\\]$/.test(section.title) ||
  (section.title === 'Type Parameters' && section.body.includes('| Type Parameter |')) ||
  (section.title === 'Constructors' &&
    !section.children.some(made => isDescribed(made) && !print(made).includes('\nUse [')))

/** Removes repeated comments. Overloads share a comment, which only the first one shows. @param {Section[]} children */
function withoutRepeats(children) {
  const described = (/** @type {Section} */ section) => [
    section.body.join('\n').replace(/^\s*```[\s\S]*?```/, ''),
    ...section.children.filter(({ title }) => title === 'Example').map(print),
  ]
  const [first, ...others] = children.filter(({ title }) => title === OVERLOAD)
  for (const other of others) {
    if (first === undefined || described(first).join() !== described(other).join()) continue
    other.body = other.body.join('\n').match(/^\s*```[\s\S]*?```/) ?? []
    other.children = other.children.filter(({ title }) => title !== 'Example')
  }
}

/** Returns an accessor without the heading of its only signature. @param {Section} section @returns {Section} */
function withoutGetter(section) {
  const [getter, ...others] = section.children
  if (getter?.title !== 'Get Signature' || others.some(({ title }) => title === 'Set Signature')) return section
  return { ...section, body: getter.body, children: others }
}

/** @param {Section} origin @returns {Section} */
function cleaned(origin) {
  const section = withoutGetter(origin)
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

/** Returns the first sentence of a section's comment, or of its first overload's. @param {Section} section @returns {string} */
function summaryOf({ body, children }) {
  const text = body.join('\n').replace(/```[\s\S]*?```/g, '')
  const [paragraph = ''] = text.split(/\n\s*\n/).filter(part => part.trim() !== '' && !/^\s*[>|#-]/.test(part))
  const [sentence = ''] = /^.*?\.(?=\s|$)/.exec(paragraph.trim().replace(/\n/g, ' ')) ?? [paragraph.trim()]
  const [overload] = children.filter(({ title }) => title === OVERLOAD)
  return sentence === '' && overload !== undefined ? summaryOf(overload) : sentence.replace(/:$/, '.')
}

/** Returns a copy whose headings are higher by `levels`. @param {Section} section @param {number} levels @returns {Section} */
const raised = (section, levels) => ({
  ...section,
  level: section.level - levels,
  children: section.children.map(child => raised(child, levels)),
})

/**
 * A page of one name. A function and the type with the same name but for capitals, such as `lease` and `Lease`, share a
 * page, because some file systems cannot tell them apart.
 *
 * @typedef {{ slug: string, title: string, summary: string, text: string }} Item
 * @typedef {{ page: string, entry: string, guide: string, groups: readonly (readonly [title: string, items: readonly Item[]])[], also: string }} Entry
 */

/** @param {readonly Section[]} sections @returns {Item} */
function itemOf(sections) {
  const [first] = sections
  if (first === undefined) throw new Error('Expected a name')
  const [slug, title] = [nameOf(first).toLowerCase(), sections.map(({ title }) => title).join(', ')]
  const text =
    sections.length === 1
      ? print(raised(first, 2))
      : [`# ${title}`, ...sections.map(section => print(raised(section, 1)))].join('\n\n')
  return { slug, title, summary: summaryOf(first), text }
}

/**
 * Returns what TypeDoc wrote of an entry as a page for each name, in groups. Names without a group follow: first errors,
 * then the others by kind.
 *
 * @param {string} markdown @param {{ page: string, entry: string, guide: string, groups: Groups }} part
 * @returns {Entry}
 */
export function arrange(markdown, { page, entry, guide, groups }) {
  const kinds = parse(markdown).children.flatMap(({ children }) => children)
  const order = BY_KIND.flatMap(kind => kinds.filter(({ title }) => title === kind)).flatMap(({ children }) => children)
  const sections = new Map(order.map(section => [nameOf(section), cleaned(section)]))
  const named = groups.flatMap(([, names]) => names)
  const lost = named.filter(name => !sections.has(name))
  if (lost.length > 0) throw new Error(`${entry} does not export ${lost.join(', ')}: correct site/parts.js`)
  const rest = Array.from(sections.keys()).filter(name => !named.includes(name))
  const isError = (/** @type {string} */ name) => name.endsWith('Error')
  const all = [
    ...groups,
    [ERRORS, rest.filter(isError)],
    [groups.length > 0 ? 'Types' : 'API', rest.filter(name => !isError(name))],
  ]
  const printed = new Set()
  const grouped = all.map(([title, names]) => {
    const slugs = new Set(Array.from(names, name => name.toLowerCase()))
    const items = Array.from(slugs)
      .filter(slug => !printed.has(slug))
      .map(slug =>
        itemOf(Array.from(sections).flatMap(([name, section]) => (name.toLowerCase() === slug ? section : []))),
      )
    for (const slug of slugs) printed.add(slug)
    return /** @type {const} */ ([String(title), items])
  })
  const references = kinds.filter(({ title }) => title === 'References').flatMap(({ children }) => children.map(print))
  return {
    page,
    entry,
    guide,
    groups: grouped.filter(([, items]) => items.length > 0),
    also: references.length === 0 ? '' : ['## Also exported', ...references].join('\n\n'),
  }
}

/** @param {Entry} entry @param {Item} item */
const pathOf = ({ page }, { slug }) => `${page}/${slug}`

/**
 * Returns the pages of the reference by their paths below `api`: an overview of each entry, and a page for each of its
 * names. Links lead to the page that has their target.
 *
 * @param {readonly Entry[]} entries @returns {Map<string, string>}
 */
export function referencePages(entries) {
  /** Pages of the anchors that TypeDoc made, by its page and the anchor. @type {Map<string, string>} */
  const targets = new Map()
  for (const entry of entries)
    for (const item of entry.groups.flatMap(([, items]) => items))
      for (const [, id] of item.text.matchAll(/<a id="([^"]+)"><\/a>/g))
        targets.set(`${entry.page}#${id}`, pathOf(entry, item))
  const linked = (/** @type {string} */ text, /** @type {string} */ from) =>
    text.replace(/\]\(([^)#:\s]*)#([^)\s]+)\)/g, (link, file, id) => {
      const page = file === '' ? from : posix.join(posix.dirname(from), file).replace(/\.md$/, '')
      const target = targets.get(`${page}#${id}`)
      return target === undefined ? link : `](/api/${target}.md#${id})`
    })
  /** @type {Map<string, string>} */
  const pages = new Map()
  for (const entry of entries) {
    const lists = entry.groups.map(([title, items]) => {
      const lines = items.map(
        item => `- [\`${item.title.replaceAll('`', '')}\`](/api/${pathOf(entry, item)}.md): ${item.summary}`,
      )
      return `## ${title}\n\n${lines.join('\n').replace(/: $/gm, '')}`
    })
    const overview = [`# ${entry.entry}`, `Guide: [${entry.guide}](/${entry.guide}.md).`, ...lists, entry.also]
    pages.set(entry.page, linked(`${overview.filter(part => part !== '').join('\n\n')}\n`, entry.page))
    for (const item of entry.groups.flatMap(([, items]) => items)) {
      const origin = `Exported by [\`${entry.entry}\`](/api/${entry.page}.md).`
      const text = item.text.replace(/^(?:<a id="[^"]+"><\/a>\n\n)?# .+$/m, heading => `${heading}\n\n${origin}`)
      pages.set(pathOf(entry, item), linked(`${text}\n`, entry.page))
    }
  }
  return pages
}
