import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = new URL('../../..', import.meta.url).pathname
const MiB = 2 ** 20

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const manifest: {
  dependencies: Record<string, string>
  exports: Record<string, string | { default: string }>
} = JSON.parse(textOf('package.json'))

/** The packages and modules of Node that a file of the package imports, itself or by others, at once or on demand. */
function importedBy(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return []
  seen.add(file)
  const paths = Array.from(textOf(file).matchAll(/(?:from|import) ?\(?"([@.\w][^"]*)"/g), ([, path = '']) => path)
  return paths.flatMap(path => (path.startsWith('.') ? importedBy(join(dirname(file), path), seen) : [path]))
}

/** Packages whose licence a file has. */
const licensed = (file: string) => Array.from(textOf(file).matchAll(/^## (\S+) \d/gm), ([, name]) => name)

describe('The bundles of the package', () => {
  it('have at most 3 MiB with all packed files', () => {
    const packing = ['pack', '--dry-run', '--json', '--ignore-scripts']
    const [packed]: { unpackedSize: number }[] = Object.values(
      JSON.parse(execFileSync('npm', packing, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })),
    )
    expect(packed?.unpackedSize).toBeLessThan(3 * MiB)
  })

  it('leave to be installed mqtt.js, its WebSockets and the types of schemas', () => {
    expect(Object.keys(manifest.dependencies)).toEqual(['@standard-schema/spec', 'mqtt', 'ws'])
  })

  it('come with the licence of every package of which something is in them', () => {
    expect(licensed('dist/licences.md')).toEqual(['@bufbuild/protobuf', 'commander', 'jose', 'picocolors', 'yaml'])
    expect(licensed('dist/server/console/page/licences.md')).toEqual(
      expect.arrayContaining(['mqtt', 'mqtt-packet', 'preact', 'readable-stream', 'rxjs', 'uplot']),
    )
  })

  it.each(['', '/lease', '/matching', '/optimistic', '/optimistic/react', '/shadow', '/retained', '/pubsub', '/react'])(
    'import no Node modules in a page, not even dynamically: rx-statestore%s',
    name => {
      const target = manifest.exports[`.${name}`]
      const imported = typeof target === 'object' ? importedBy(target.default) : ['?']
      expect(imported.filter(path => !['mqtt', 'react', 'rxjs', 'ws'].includes(path))).toEqual([])
    },
  )
})
