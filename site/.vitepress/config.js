import { readdirSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'
import { API, PARTS } from '../parts.js'

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

export default defineConfig({
  title: 'rx-statestore',
  description:
    'Live state for RxJS: every key of an MQTT state store a hot observable, every write a versioned operator.',
  head: [['link', { rel: 'icon', href: '/pictures/icon.svg' }]],
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: 'node_modules/.cache/vitepress',
  // Examples name addresses of this machine.
  ignoreDeadLinks: [/^https?:\/\/(localhost|127\.0\.0\.1)/],
  markdown: { config: anchorRows },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guide', link: '/guide' },
      { text: 'Running a store', link: '/deploying' },
      { text: 'API', link: '/api/client' },
      { text: 'Errors', link: '/errors' },
    ],
    sidebar: [
      ...PARTS.map(({ title, pages }) => ({ text: title, items: pages.map(([, page]) => item(page)) })),
      { text: 'API', items: API.map(({ page, entry }) => ({ text: entry, link: `/api/${page}` })) },
      { text: 'Decisions', collapsed: true, items: decisions.map(item) },
    ],
  },
})
