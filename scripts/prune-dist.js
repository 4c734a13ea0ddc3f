// Takes out of dist/ what no source makes any more, after a build: it would be packed, and hide paths that are gone.
// What is in use stays in place meanwhile, for programs and specs run from dist/ beside a build.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = new URL('..', import.meta.url).pathname
/** Vite empties it. */
const PAGE = 'server/console/page/'

for (const name of readdirSync(join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' })) {
  if (name.startsWith(PAGE) || !/\.(js|ts|map)$/.test(name)) continue
  const source = join(ROOT, 'src', name.replace(/(\.d)?\.(js|ts)(\.map)?$/, ''))
  if (!existsSync(`${source}.ts`) && !existsSync(`${source}.tsx`)) rmSync(join(ROOT, 'dist', name))
}
