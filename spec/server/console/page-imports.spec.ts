import { readdirSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'

const PAGE = new URL('../../../console', import.meta.url).pathname

/** The library internals that the page may import. All other imports are from `rx-statestore`, as in any app. */
const INSIDES = [
  '../design/states.js',
  '../src/core/util/backoff.js',
  '../src/core/util/bytes.js',
  '../src/server/console/contract.js',
]
/** The permitted imports per folder. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  model: [],
  api: [],
  state: ['model', 'api'],
  view: ['model', 'state', 'style'],
}

const files = readdirSync(join(PAGE, 'src'), { recursive: true, encoding: 'utf8' })
  .map(file => file.replaceAll('\\', '/'))
  .filter(file => /\.(tsx?|css)$/.test(file))
const sources = files.map(file => ({ file, source: readFileSync(join(PAGE, 'src', file), 'utf8') }))
const imports = sources.flatMap(({ file, source }) =>
  Array.from(source.matchAll(/(?:from|import)[ (]'(\.[^']+)'/g), ([, target = '']) => ({
    file,
    target: normalize(join('src', file, '..', target)),
  })),
)

describe('The console page', () => {
  it('the page imports only the listed library internals', () => {
    const inside = imports.filter(({ target }) => target.startsWith('../'))
    expect([...new Set(inside.map(({ target }) => target))].sort()).toEqual(INSIDES)
  })

  it('views import state and state imports models, never the reverse', () => {
    const forbidden = imports.filter(({ file, target }) => {
      const [from = '', to = ''] = [file.split('/')[0], target.split('/')[1]]
      return target.startsWith('src/') && from in MAY_IMPORT && from !== to && !MAY_IMPORT[from]?.includes(to)
    })
    expect(forbidden).toEqual([])
    expect(imports.length).toBeGreaterThan(100)
  })

  it('the page contacts no other server and creates no HTML from text', () => {
    const html = readFileSync(join(PAGE, 'index.html'), 'utf8')
    const offenders = [...sources, { file: 'index.html', source: html }].filter(({ source }) =>
      /https?:\/\/|innerHTML|dangerouslySetInnerHTML|insertAdjacentHTML|@font-face| style="|<script>/.test(source),
    )
    expect(offenders.map(({ file }) => file)).toEqual([])
  })

  it('each file of the page has at most 250 lines, or 300 lines for style sheets', () => {
    const large = sources.filter(({ file, source }) => source.split('\n').length > (/css$/.test(file) ? 300 : 250))
    expect(large.map(({ file }) => file)).toEqual([])
  })
})
