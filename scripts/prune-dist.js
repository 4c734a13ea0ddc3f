// Removes from dist/ what no entry of package.json leads to, after a build: declarations of internals, and what an older
// build left, folders that are empty then included. Files in use stay, for programs that run from dist/ during a build.
// `node scripts/prune-dist.js [ROOT]`
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { entryFiles } from './entry-files.js'

const ROOT = process.argv[2] ?? new URL('..', import.meta.url).pathname
const DIST = join(ROOT, 'dist')
/** Vite empties it. */
const PAGE = 'server/console/page/'
const LICENCES = 'licences.md'

/** @type {Set<string>} */
const kept = new Set()

/** @param {string} file */
function keep(file) {
  if (kept.has(file) || !existsSync(join(DIST, file))) return
  kept.add(file)
  for (const [, path = ''] of readFileSync(join(DIST, file), 'utf8').matchAll(
    /(?:from|import) ?\(?["'](\.[^"']+)["']/g,
  )) {
    const target = join(dirname(file), path)
    keep(file.endsWith('.d.ts') ? target.replace(/\.js$/, '.d.ts') : target)
  }
}

for (const name of entryFiles(pathToFileURL(join(ROOT, 'package.json')))) {
  keep(`${name}.js`)
  keep(`${name}.d.ts`)
}

/** @param {string} folder */
function prune(folder) {
  for (const entry of readdirSync(join(DIST, folder), { withFileTypes: true })) {
    const name = join(folder, entry.name)
    if (`${name}/` === PAGE || name === LICENCES || kept.has(name)) continue
    if (entry.isDirectory()) prune(name)
    else rmSync(join(DIST, name))
  }
  if (folder !== '' && readdirSync(join(DIST, folder)).length === 0) rmdirSync(join(DIST, folder))
}

prune('')
