// Removes the files of dist/ that no entry of package.json needs: `node scripts/prune-dist.js [ROOT]`. After a build
// these are declarations of internals, files of an older build, and folders that become empty. Files in use stay,
// because programs may run from dist/ during a build.
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { entryFiles } from './entry-files.js'

const ROOT = process.argv[2] ?? new URL('..', import.meta.url).pathname
const DIST = join(ROOT, 'dist')
/** The folder of the console's page, which Vite empties. */
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
