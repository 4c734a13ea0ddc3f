import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PROGRAM_TIMEOUT_MS } from './support/program-timeout.js'

const ROOT = new URL('../../..', import.meta.url).pathname
const MiB = 2 ** 20

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const manifest: {
  dependencies: Record<string, string>
  exports: Record<string, string | { default: string }>
} = JSON.parse(textOf('package.json'))

/**
 * Returns the packages and Node modules that a file of the package imports, directly or through other files, statically
 * or dynamically.
 */
function importedBy(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return []
  seen.add(file)
  const paths = Array.from(textOf(file).matchAll(/(?:from|import) ?\(?"([@.\w][^"]*)"/g), ([, path = '']) => path)
  return paths.flatMap(path => (path.startsWith('.') ? importedBy(join(dirname(file), path), seen) : [path]))
}

/** Returns the packages whose licence a file contains. */
const licensed = (file: string) => Array.from(textOf(file).matchAll(/^## (\S+) \d/gm), ([, name]) => name)

describe('The bundles of the package', { timeout: PROGRAM_TIMEOUT_MS }, () => {
  it('all packed files together have at most 3.6 MiB', () => {
    const packing = ['pack', '--dry-run', '--json', '--ignore-scripts']
    const [packed]: { unpackedSize: number }[] = Object.values(
      JSON.parse(execFileSync('npm', packing, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })),
    )
    expect(packed?.unpackedSize).toBeLessThan(3.6 * MiB)
  })

  it('the bundles leave mqtt.js, its WebSockets and the types of schemas to be installed', () => {
    expect(Object.keys(manifest.dependencies)).toEqual(['@standard-schema/spec', 'mqtt', 'ws'])
  })

  it('the bundles contain the licence of every package that they include', () => {
    expect(licensed('dist/licences.md')).toEqual([
      '@bufbuild/protobuf',
      'commander',
      'jose',
      'picocolors',
      'prom-client',
      'yaml',
    ])
    expect(licensed('dist/server/console/page/licences.md')).toEqual(
      expect.arrayContaining(['mqtt', 'mqtt-packet', 'preact', 'readable-stream', 'rxjs', 'uplot']),
    )
  })

  it.each([
    '',
    '/lease',
    '/matching',
    '/optimistic',
    '/optimistic/react',
    '/shadow',
    '/retained',
    '/pubsub',
    '/react',
    '/diagnostics',
    '/opentelemetry',
  ])('the bundles for pages import no Node modules, not even dynamically: rx-statestore%s', name => {
    const target = manifest.exports[`.${name}`]
    const imported = typeof target === 'object' ? importedBy(target.default) : ['?']
    expect(imported.filter(path => !['mqtt', 'react', 'rxjs', 'ws', '@opentelemetry/api'].includes(path))).toEqual([])
  })
})
