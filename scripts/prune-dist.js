// Removes from dist/ what no source makes any more, after a build: such files would be packed, and hide wrong paths.
// Files in use stay, for programs that run from dist/ during a build. `node scripts/prune-dist.js [ROOT]`
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = process.argv[2] ?? new URL('..', import.meta.url).pathname
/** Vite empties it. */
const PAGE = 'server/console/page/'

for (const name of readdirSync(join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' })) {
  if (name.startsWith(PAGE) || !/\.(js|ts|map)$/.test(name)) continue
  const source = join(ROOT, 'src', name.replace(/(\.d)?\.(js|ts)(\.map)?$/, ''))
  if (!existsSync(`${source}.ts`) && !existsSync(`${source}.tsx`)) rmSync(join(ROOT, 'dist', name))
}
