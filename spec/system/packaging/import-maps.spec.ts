import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = new URL('../../..', import.meta.url).pathname
const OURS = './node_modules/rx-statestore/'
const manifest: { exports: Record<string, string | { default: string }>; scripts: Record<string, string> } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
)

const within = (folder: string): string[] => readdirSync(join(ROOT, folder)).map(name => `${folder}/${name}`)

const PAGES = ['README.md', ...within('docs'), ...within('spec/system/browser/pages')].filter(name =>
  /\.(md|html)$/.test(name),
)

/** Names and paths of the import maps of a page. */
function importsOf(page: string): [string, string][] {
  const maps = readFileSync(join(ROOT, page), 'utf8').matchAll(/<script type="importmap">([\s\S]*?)<\/script>/g)
  return Array.from(maps).flatMap(([, map]) => {
    const { imports }: { imports: Record<string, string> } = JSON.parse(map ?? '')
    return Object.entries(imports)
  })
}

const imports = PAGES.flatMap(page => importsOf(page).map(([name, path]) => ({ page, name, path })))

it('The import maps of pages lead to what the package exports, and to files of other packages that exist', () => {
  expect(imports.length).toBeGreaterThan(5)
  const wrong = imports.filter(({ name, path }) => {
    if (!/^rx-statestore(\/|$)/.test(name)) return path.startsWith('./node_modules/') && !existsSync(join(ROOT, path))
    const target = manifest.exports[name.replace('rx-statestore', '.')]
    return typeof target !== 'object' || path !== OURS + target.default.replace('./', '')
  })
  expect(wrong).toEqual([])
})

it('A build keeps no files of an older one, which a page might load', () => {
  const root = mkdtempSync(join(tmpdir(), 'rx-statestore-prune-'))
  for (const folder of ['src', 'dist']) mkdirSync(join(root, folder))
  for (const name of ['src/kept.ts', 'dist/kept.js', 'dist/stale.js']) writeFileSync(join(root, name), '')
  const [, prune = 'none'] = /&& node (scripts\S+) &&/.exec(manifest.scripts['build'] ?? '') ?? []
  execFileSync(process.execPath, [join(ROOT, prune), root])
  expect(readdirSync(join(root, 'dist'))).toEqual(['kept.js'])
})
