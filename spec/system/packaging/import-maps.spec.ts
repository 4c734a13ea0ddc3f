import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../support/temporary-folder.js'

const ROOT = new URL('../../..', import.meta.url).pathname
const OURS = './node_modules/rx-statestore/'
const manifest: { exports: Record<string, string | { default: string }> } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
)

const within = (folder: string): string[] => readdirSync(join(ROOT, folder)).map(name => `${folder}/${name}`)

const PAGES = ['README.md', ...within('docs'), ...within('spec/system/browser/pages')].filter(name =>
  /\.(md|html)$/.test(name),
)

/** Returns the names and paths in the import maps of a page. */
function importsOf(page: string): [string, string][] {
  const maps = readFileSync(join(ROOT, page), 'utf8').matchAll(/<script type="importmap">([\s\S]*?)<\/script>/g)
  return Array.from(maps).flatMap(([, map]) => {
    const { imports }: { imports: Record<string, string> } = JSON.parse(map ?? '')
    return Object.entries(imports)
  })
}

const imports = PAGES.flatMap(page => importsOf(page).map(([name, path]) => ({ page, name, path })))

it('import maps of pages lead to exported files and existing files of other packages', () => {
  expect(imports.length).toBeGreaterThan(5)
  const wrong = imports.filter(({ name, path }) => {
    if (!/^rx-statestore(\/|$)/.test(name)) return path.startsWith('./node_modules/') && !existsSync(join(ROOT, path))
    const target = manifest.exports[name.replace('rx-statestore', '.')]
    return typeof target !== 'object' || path !== OURS + target.default.replace('./', '')
  })
  expect(wrong).toEqual([])
})

it('A build keeps imported files, and removes internals and files of older builds', () => {
  const root = temporaryFolder()
  for (const folder of ['chunks', 'former/deep', 'server/console/page'])
    mkdirSync(join(root, 'dist', folder), { recursive: true })
  const files = {
    'package.json': JSON.stringify({
      bin: {},
      exports: { '.': { types: './dist/kept.d.ts', default: './dist/kept.js' } },
    }),
    'dist/kept.js': 'import "./chunks/needed.js"; export const late = () => import("./chunks/late.js")',
    'dist/kept.d.ts': "export type { A } from './types.js'",
    'dist/types.d.ts': 'export type A = 1',
    'dist/inner.d.ts': 'export type B = 2',
    'dist/stale.js': '',
    'dist/chunks/needed.js': '',
    'dist/chunks/late.js': '',
    'dist/chunks/stale.js': '',
    'dist/former/deep/stale.js': '',
    'dist/former/page.html': '',
    'dist/licences.md': '',
    'dist/server/console/page/index.html': '',
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text)
  execFileSync(process.execPath, [join(ROOT, 'scripts/prune-dist.js'), root])
  expect(readdirSync(join(root, 'dist'), { recursive: true }).sort()).toEqual([
    'chunks',
    'chunks/late.js',
    'chunks/needed.js',
    'kept.d.ts',
    'kept.js',
    'licences.md',
    'server',
    'server/console',
    'server/console/page',
    'server/console/page/index.html',
    'types.d.ts',
  ])
})
