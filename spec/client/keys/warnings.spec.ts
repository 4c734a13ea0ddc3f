import { NEVER } from 'rxjs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { text } from '../../../src/client/keys/codec.js'
import { escapeGlob, globWarning } from '../../../src/client/keys/scan.js'
import { lease } from '../../../src/client/lease/lease.js'
import { matching } from '../../../src/client/matching/index.js'
import { fakeStore } from '../../support/operator-session.js'

/** Opens a client and collects the warnings that it logs. */
function open() {
  const words: unknown[] = []
  vi.spyOn(console, 'warn').mockImplementation(said => words.push(said))
  onTestFinished(() => void vi.restoreAllMocks())
  return { store: fakeStore(() => NEVER).store, words }
}

describe('console warnings', () => {
  it.each([
    ['sensor/', 'the glob `sensor/` matches a single key: for all keys that begin with it write `sensor/*`'],
    ['sensor/#', '`#` and `+` are not wildcards in the glob `sensor/#`: write `sensor/*`'],
    ['+/state', '`#` and `+` are not wildcards in the glob `+/state`: write `*/state`'],
    ['a/[0-9', 'the glob `a/[0-9` has a `[` without a `]`: for the character `[` write `\\[`, see escapeGlob'],
    ['a/+/b/#', '`#` and `+` are not wildcards in the glob `a/+/b/#`: write `a/*/b/*`'],
  ])('the glob %s causes a warning that suggests a correction', (glob, words) => {
    expect(globWarning(glob)).toBe(words)
  })

  it.each(['sensor/*', '*', 'a?', 'a[0-9]', 'a[\\]]', escapeGlob('a*b'), escapeGlob('a[b'), new Uint8Array([97])])(
    'the glob %s causes no warning',
    glob => {
      expect(globWarning(glob)).toBeUndefined()
    },
  )

  // In quadratic time, this would take minutes.
  it('the time to look for an unclosed class is linear in the size of the glob', () => {
    expect(globWarning('['.repeat(500_000))).toContain('without a `]`')
    expect(globWarning('[a]'.repeat(500_000))).toBeUndefined()
  })

  it('a client warns about globs only once, across scans and watches', () => {
    const { store, words } = open()
    store.scan('sensor/*')
    expect(words).toEqual([])
    store.scan('sensor/')
    matching(store, 'sensor/#', text)
    expect(words).toEqual([expect.stringMatching(/^rx-statestore: the glob `sensor\/` matches a single key/)])
  })

  it('a client warns about a short lease only once', () => {
    const { store, words } = open()
    lease(store, 'line', { duration: 10_000 })
    lease(store, 'line', { duration: 10 })
    lease(store, 'line', { duration: 10 })
    expect(words).toEqual([expect.stringMatching(/^rx-statestore: a lease of 10 ms is lost at any pause/)])
  })
})
