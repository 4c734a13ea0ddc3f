import { readdirSync, readFileSync } from 'node:fs'
import { createCssVariablesTheme } from 'shiki'
import { defineConfig } from 'vitepress'
import { PARTS } from '../parts.js'

const PAGES = new URL('../pages/', import.meta.url)

/** @param {string} page */
function titleOf(page) {
  const [, title = page] = /^# (.+)$/m.exec(readFileSync(new URL(`${page}.md`, PAGES), 'utf8')) ?? []
  return title.replaceAll('`', '')
}

/** @param {string} page */
const item = page => ({ text: page === 'guide' ? 'Overview' : titleOf(page), link: `/${page}` })

const decisions = readdirSync(new URL('decisions', PAGES)).map(name => `decisions/${name.replace('.md', '')}`)

/**
 * A row of a table that begins with a name in code, such as an option or an error's code, can be linked to by that name.
 *
 * @param {import('vitepress').MarkdownRenderer} md
 */
function anchorRows(md) {
  md.core.ruler.push('row anchors', state => {
    const known = new Set()
    for (const [i, token] of state.tokens.entries()) {
      const [cell, inline] = [state.tokens[i + 1], state.tokens[i + 2]]
      const [first] = inline?.children ?? []
      if (token.type !== 'tr_open' || cell?.type !== 'td_open' || first?.type !== 'code_inline') continue
      const id = first.content
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, '-')
        .replace(/^-|-$/g, '')
      if (id === '' || known.has(id)) continue
      known.add(id)
      token.attrSet('id', id)
    }
  })
}

/** Where the site is published, with its path; the workflow of the site sets it. Previews need none. */
const { SITE_URL } = process.env
const base = SITE_URL === undefined ? '/' : new URL(SITE_URL).pathname

/** @type {readonly { page: string, entry: string, items: readonly { slug: string, title: string }[] }[]} */
const contents = JSON.parse(readFileSync(new URL('api/contents.json', PAGES), 'utf8'))

const reference = {
  text: 'API',
  items: contents.map(({ page, entry, items }, index) => ({
    text: entry,
    link: `/api/${page}`,
    collapsed: index > 0,
    items: items.map(({ slug, title }) => ({ text: title, link: `/api/${page}/${slug}` })),
  })),
}
const sections = PARTS.map(({ title, pages }) => ({ text: title, items: pages.map(([, page]) => item(page)) }))
const sidebars = PARTS.flatMap(({ title, pages }, index) => {
  const own = [sections[index], ...(title === 'Reference' ? [reference] : [])]
  return pages.map(([, page]) => [`/${page}`, own])
})
const lastSection = sections.at(-1)
/** Each page has the sidebar of its section. */
const sidebar = {
  ...Object.fromEntries(sidebars),
  '/api/': [lastSection, reference],
  '/decisions/': [lastSection, { text: 'Decisions', items: decisions.map(item) }],
}

/**
 * Corrections of the theme of VitePress. Its search nests links in options of a list box, and names its elements
 * differently from what they show; here, the search has a list of links. Its sidebar makes each heading a button, also
 * a heading without an effect. Its bar gets its final layout only in the browser, where it then moves.
 *
 * @type {readonly (readonly [file: string, pattern: RegExp, replacement: string])[]}
 */
const THEME_EDITS = [
  [
    'VPLocalSearchBox.vue',
    /role="button"\s+:aria-owns="[^"]*"\s+aria-expanded="true"\s+aria-haspopup="listbox"/,
    'role="dialog"',
  ],
  ['VPLocalSearchBox.vue', /:role="results\?\.length \? 'listbox' : undefined"/, ''],
  ['VPLocalSearchBox.vue', /:aria-selected="[^"]*"\s+role="option"/, ''],
  ['VPLocalSearchBox.vue', /:aria-label="\[\.\.\.p\.titles, p\.title\]\.join\(' > '\)"/, ''],
  ['VPLocalSearchBox.vue', /:aria-activedescendant="[^"]*"\s+aria-autocomplete="both"/, ''],
  ['VPLocalSearchBox.vue', /<kbd (?=:aria-label)/g, '<kbd role="img" '],
  ['VPSidebarItem.vue', /:role="itemRole"/, ''],
  ['VPSidebarItem.vue', /:tabindex="item\.items && 0"/, ''],
  ['VPNavBar.vue', /watchPostEffect/g, 'watchEffect'],
]

/** @type {import('vite').Plugin} */
const themeEdits = {
  name: 'theme edits',
  enforce: 'pre',
  transform: (code, id) => {
    const edits = THEME_EDITS.filter(([file]) => id.endsWith(file))
    if (edits.length === 0) return
    return edits.reduce((text, [file, pattern, replacement]) => {
      if (!pattern.test(text)) throw new Error(`${file} has no ${pattern}: is it another version of VitePress?`)
      return text.replace(pattern, replacement)
    }, code)
  },
}

/** Code in the colours of design/tokens.css. */
const theme = createCssVariablesTheme({ name: 'tokens', variablePrefix: '--code-' })

const DESCRIPTION =
  'Live state for RxJS over MQTT: every key of a state store an observable that survives reconnects, every write a versioned operator.'

export default defineConfig({
  title: 'rx-statestore',
  description: DESCRIPTION,
  lang: 'en',
  base,
  head: [
    ['link', { rel: 'icon', href: `${base}pictures/icon.svg` }],
    ['meta', { property: 'og:title', content: 'rx-statestore' }],
    ['meta', { property: 'og:description', content: DESCRIPTION }],
    ['meta', { property: 'og:type', content: 'website' }],
    ['meta', { property: 'og:image', content: `${SITE_URL ?? '/'}pictures/preview.png` }],
    ['meta', { name: 'twitter:card', content: 'summary_large_image' }],
  ],
  // Both fonts are in the first screen of nearly every page.
  transformHead: ({ assets }) =>
    assets
      .filter(asset => /-latin-wght-normal\..*woff2$/.test(asset))
      .map(href => ['link', { rel: 'preload', href, as: 'font', type: 'font/woff2', crossorigin: '' }]),
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: 'node_modules/.cache/vitepress',
  // Examples name addresses of this machine.
  ignoreDeadLinks: [/^https?:\/\/(localhost|127\.0\.0\.1)/],
  markdown: { config: anchorRows, theme },
  vite: { plugins: [themeEdits], build: { cssTarget: ['chrome123', 'firefox120', 'safari17.5'] } },
  themeConfig: {
    logo: { src: '/pictures/icon.svg', alt: '' },
    // Guides before the reference, whose pages contain the names that users search for.
    search: {
      provider: 'local',
      options: { miniSearch: { searchOptions: { boostDocument: id => (id.includes('/api/') ? 0.25 : 1) } } },
    },
    outline: [2, 3],
    nav: PARTS.map(({ title, pages: [first] }) => ({
      text: title,
      link: `/${first?.[1]}`,
      activeMatch: title === 'Reference' ? '^/(api|errors|command-line|runtimes|changes|decisions)' : undefined,
    })),
    socialLinks: [{ icon: 'github', link: 'https://github.com/rx-statestore/rx-statestore' }],
    sidebar,
    footer: { message: 'Released under the MIT licence.' },
  },
})
