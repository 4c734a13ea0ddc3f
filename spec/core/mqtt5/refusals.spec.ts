import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { disconnectCode, REFUSALS, type Retry } from '../../../src/core/mqtt5/refusals.js'
import { LOGIN_REFUSAL } from '../../../src/server/access/login.js'

const RETRY_WORDS: Readonly<Record<Retry, string>> = {
  always: 'yes',
  'after-login': 'after an accepted login',
  elsewhere: 'at another address',
  never: 'no',
}

/** Codes of CONNACK that DISCONNECT lacks (MQTT 5.0, sections 3.2.2.2 and 3.14.2.1). */
const CONNACK_ONLY = [132, 133, 134, 136, 138, 140]

describe('Refusals', () => {
  it('docs/errors.md has the table of refusals', () => {
    const rows = Array.from(
      REFUSALS,
      ([code, { cause, retry }]) => `| ${code} | ${disconnectCode(code)} | ${cause} | ${RETRY_WORDS[retry]} |`,
    )
    expect(readFileSync('docs/errors.md', 'utf8')).toContain(`\n${rows.join('\n')}\n\n`)
  })

  it('every reason to reject a login has a row', () => {
    for (const code of Object.values(LOGIN_REFUSAL)) expect(REFUSALS.has(code), String(code)).toBe(true)
  })

  it('DISCONNECT gets only codes that it permits', () => {
    for (const code of REFUSALS.keys()) expect(CONNACK_ONLY).not.toContain(disconnectCode(code))
    expect(Array.from(REFUSALS.keys()).filter(code => disconnectCode(code) !== code)).toEqual(CONNACK_ONLY)
  })

  it('a transient refusal has a transient code in DISCONNECT', () => {
    for (const [code, { retry }] of REFUSALS)
      if (retry === 'always') expect(REFUSALS.get(disconnectCode(code))?.retry).toBe('always')
  })
})
