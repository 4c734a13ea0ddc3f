// Builds the documentation site into site/dist: `npm run docs`. The documents of the repository become pages that link
// to each other and to the reference, which TypeDoc generates from the sources. A broken link in the result fails the
// build. There is no lock file, because the lock file that npm writes for this generator lacks packages of other
// platforms, so `npm ci` rejects it.

import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { promisify } from 'node:util'
import { API, PARTS } from '../site/parts.js'
import { arrange, referencePages } from './reference.js'

const run = promisify(execFile)
const ROOT = new URL('..', import.meta.url).pathname
const SITE = join(ROOT, 'site')
const [PAGES, DIST] = [join(SITE, 'pages'), join(SITE, 'dist')]
const DECISIONS = 'docs/decisions'
/** The path at which the site is published. */
const BASE = new URL(process.env['SITE_URL'] ?? 'http://site/').pathname
const { repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
/** Web addresses of files that are not in the package; `raw` is for pictures. */
const WEB = ['blob', 'raw'].map(kind => `${repository.url.replace(/^git\+|\.git$/g, '')}/${kind}/main/`)

const listed = PARTS.flatMap(({ pages }) => pages)
const decisions = markdownIn(DECISIONS).map(
  name => /** @type {const} */ ([`${DECISIONS}/${name}`, `decisions/${name.replace('.md', '')}`]),
)
/** The pages, by document. */
const pages = new Map([...listed, ...decisions])

/** @param {string} folder */
function markdownIn(folder) {
  return readdirSync(join(ROOT, folder)).filter(name => name.endsWith('.md'))
}

/**
 * Returns the target of a document's link on the site, or `undefined` for a target outside the site, such as a source
 * file.
 *
 * @param {string} target @param {string} source
 */
function targetOf(target, source) {
  const base = WEB.find(each => target.startsWith(each))
  if (base === undefined && /^(https?:|mailto:|#)/.test(target)) return target
  const [path = '', anchor] = target.slice(base?.length ?? 0).split('#')
  const file = base === undefined ? posix.join(posix.dirname(source), path) : path
  const page = pages.get(file)
  if (page !== undefined) return `/${page}.md${anchor === undefined ? '' : `#${anchor}`}`
  if (/\.(svg|png)$/.test(file)) return `/pictures/${posix.basename(file)}`
  return base === undefined ? undefined : target
}

/** A picture with a source for the dark theme, which the site chooses by its switch and not by the system. */
const PICTURE = /<picture>\s*<source [^>]*srcset="([^"]+)">\s*<img src="([^"]+)"([^>]*)>\s*<\/picture>/g

/** Returns a document as a page: without badges, and with links to other pages. @param {string} source */
function pageOf(source) {
  return readFileSync(join(ROOT, source), 'utf8')
    .replace(/^\[!\[.*\n\n/m, '')
    .replace(PICTURE, (_, dark, light, rest) =>
      [`<img class="when-light" src="${light}"${rest}>`, `<img class="when-dark" src="${dark}"${rest}>`].join('\n'),
    )
    .replace(/\[([^\]\n]*)\]\(([^)\s]+)\)/g, (_, text, target) => {
      const to = targetOf(target, source)
      return to === undefined ? text : `[${text}](${to})`
    })
    .replace(/ (src|srcset)="([^"]+)"/g, (_, name, target) => ` ${name}="${targetOf(target, source) ?? target}"`)
}

/** @param {string} page @param {string} text */
function write(page, text) {
  const file = join(PAGES, `${page}.md`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

function gather() {
  for (const name of markdownIn('docs'))
    if (!pages.has(`docs/${name}`)) throw new Error(`docs/${name} is on no page: name it in site/parts.js`)
  rmSync(PAGES, { recursive: true, force: true })
  for (const [source, page] of pages) write(page, pageOf(source))
  cpSync(join(SITE, 'index.md'), join(PAGES, 'index.md'))
  const pictures = join(PAGES, 'public/pictures')
  cpSync(join(ROOT, 'console/public/icon.svg'), join(pictures, 'icon.svg'))
  cpSync(join(ROOT, 'docs/pictures'), pictures, { recursive: true })
  for (const name of readdirSync(join(ROOT, 'docs')))
    if (name.endsWith('.svg')) cpSync(join(ROOT, 'docs', name), join(pictures, name))
}

/** Writes the reference, and the table of its pages from which the sidebar is made. */
async function reference() {
  await run(process.execPath, ['node_modules/typedoc/bin/typedoc', '--options', 'typedoc.json'], { cwd: SITE })
  const entries = API.map(part => arrange(readFileSync(join(PAGES, 'api', `${part.page}.md`), 'utf8'), part))
  rmSync(join(PAGES, 'api'), { recursive: true })
  for (const [page, text] of referencePages(entries)) write(`api/${page}`, text)
  const contents = entries.map(({ page, entry, groups }) => ({
    page,
    entry,
    items: groups.flatMap(([, items]) => items.map(({ slug, title }) => ({ slug, title: title.replaceAll('`', '') }))),
  }))
  writeFileSync(join(PAGES, 'api/contents.json'), JSON.stringify(contents))
}

/** @param {string} html */
const idsOf = html => new Set(Array.from(html.matchAll(/ id="([^"]+)"/g), ([, id]) => id))

/** Returns the broken links of a built page. @param {string} page @param {ReadonlyMap<string, ReadonlySet<string | undefined>>} ids @param {string} html */
function broken(page, html, ids) {
  const links = Array.from(html.matchAll(/<a [^>]*href="([^"]+)"/g), ([, href = '']) => href)
  return links.filter(href => {
    const { protocol, host, pathname, hash } = new URL(href, `http://site${BASE}${page}`)
    if (protocol !== 'http:' || host !== 'site') return false
    const path = pathname.replace(/\/$/, '/index.html').slice(BASE.length)
    const known = ids.get(path.includes('.') ? path : `${path}.html`)
    return known === undefined || (hash !== '' && !known.has(decodeURIComponent(hash.slice(1))))
  })
}

function followLinks() {
  const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.html'))
  const html = new Map(files.map(name => [relative('.', name), readFileSync(join(DIST, name), 'utf8')]))
  const ids = new Map(Array.from(html, ([name, text]) => [name, idsOf(text)]))
  const lost = Array.from(html).flatMap(([name, text]) => broken(name, text, ids).map(href => `${name}: ${href}`))
  if (lost.length > 0) throw new Error(`Broken links:\n${lost.join('\n')}`)
  return files.length
}

gather()
await reference()
await run(process.execPath, ['node_modules/vitepress/bin/vitepress.js', 'build'], { cwd: SITE }).catch(
  ({ stdout, stderr }) => {
    throw new Error(`${stdout}${stderr}`)
  },
)
console.log(
  `${followLinks()} pages in site/dist, every link followed; look at them with npx vite preview --outDir site/dist`,
)
