import { describe, expect, it } from 'vitest'
import { CommandError, parseCommand } from '../../../src/core/protocol/parse-command.js'
import type { RawClocks } from '../../../src/server/engine/command-result.js'
import { readClocks, VersionClock } from '../../../src/server/engine/version-clock.js'
import { command } from '../../support/words.js'

const NOW = 1_696_374_425_000

interface RawRequest extends RawClocks {
  readonly payload: Uint8Array
}

function readRequest(raw: RawRequest) {
  const command = parseCommand(raw.payload)
  return { command, ...readClocks(command, raw, new VersionClock(), NOW) }
}

function codeOf(raw: RawRequest): string {
  try {
    readRequest(raw)
  } catch (error) {
    if (error instanceof CommandError) return error.code
    throw error
  }
  return 'accepted'
}

const set = (timestamp: string | undefined, fencingToken?: string): string =>
  codeOf({ payload: command('SET k v'), timestamp, fencingToken })

const get = (timestamp: string | undefined, fencingToken?: string): string =>
  codeOf({ payload: command('GET k'), timestamp, fencingToken })

describe('Reading a request', () => {
  it('a request yields its command and both clocks', () => {
    const timestamp = '1696374425000:2:CLIENT'
    const fencingToken = '001696374424000:00003:LOCK'
    const request = readRequest({ payload: command('SET k v NX PX 100'), timestamp, fencingToken })
    expect(request.command).toMatchObject({ verb: 'SET', condition: { type: 'NX' }, px: 100 })
    expect(request.timestamp).toMatchObject({ wallClock: 1_696_374_425_000, counter: 2, nodeId: 'CLIENT' })
    expect(request.fencingToken).toMatchObject({ wallClock: 1_696_374_424_000, counter: 3, nodeId: 'LOCK' })
  })

  it('only SET requires a timestamp', () => {
    const request = readRequest({ payload: command('GET k') })
    expect([request.timestamp, request.fencingToken]).toEqual([undefined, undefined])
    expect(set(undefined)).toBe('timestamp-missing')
    expect(set(undefined, `${NOW}:0:LOCK`)).toBe('timestamp-missing')
  })

  it('clocks up to the latest accepted time are valid, even if they are far behind', () => {
    expect(set(`${NOW + 60_000}:0:CLIENT`, `${NOW + 60_000}:0:LOCK`)).toBe('accepted')
    expect(set('0:0:CLIENT', '0:0:LOCK')).toBe('accepted')
    expect(set(`${NOW + 60_001}:0:CLIENT`)).toBe('clock-skew')
    expect(set(`${NOW}:0:CLIENT`, `${NOW + 60_001}:0:LOCK`)).toBe('fencing-token-skew')
  })

  it('the clocks of a GET are validated, although GET requires none', () => {
    expect(get('now')).toBe('timestamp-malformed')
    expect(get(undefined, 'now')).toBe('timestamp-malformed')
    expect(get(`${NOW + 60_001}:0:CLIENT`)).toBe('clock-skew')
    expect(get(undefined, `${NOW + 60_001}:0:LOCK`)).toBe('fencing-token-skew')
  })

  it('any counter that is a safe integer is accepted', () => {
    expect(set(`${NOW + 60_000}:4294967296:CLIENT`)).toBe('accepted')
    expect(set(`${NOW}:9007199254740991:CLIENT`)).toBe('accepted')
    expect(set(`${NOW}:9007199254740992:CLIENT`)).toBe('timestamp-malformed')
  })

  it('the payload is validated before the clocks', () => {
    const timestamp = 'now'
    expect(codeOf({ payload: command('set k v'), timestamp })).toBe('unknown-command')
    expect(codeOf({ payload: command('SET k'), timestamp })).toBe('wrong-argument-count')
    expect(codeOf({ payload: command('SET k v YZ'), timestamp })).toBe('syntax-error')
    expect(codeOf({ payload: new Uint8Array(0), timestamp })).toBe('syntax-error')
  })
})
