import { describe, expect, it } from 'vitest'
import { Random } from '../../../harness/random.js'
import { backoffStrategy } from '../../../src/client/session/connection-manager.js'
import { ConnectionLostError } from '../../../src/core/util/errors.js'

const LOST = new ConnectionLostError()

describe('the default delays between attempts', () => {
  it('grow to 5 s, and to 30 s while the broker responds that it is overloaded', () => {
    const strategy = backoffStrategy({ random: () => 1 })
    const delays = [undefined, 139, 137, 151, 159].map(code => strategy(15, new ConnectionLostError('busy', {}, code)))
    expect(delays).toEqual([5_000, 5_000, 30_000, 30_000, 30_000])
  })

  it('a configured maximum applies in both cases', () => {
    const strategy = backoffStrategy({ max: 700, random: () => 1 })
    expect([undefined, 137].map(code => strategy(15, new ConnectionLostError('busy', {}, code)))).toEqual([700, 700])
  })

  it('of 2,000 clients that wait for a broker, at most one in ten tries in the same 100 ms', () => {
    const random = new Random(7)
    const strategy = backoffStrategy({ random: () => random.next() })
    const END_MS = 20_000
    const attempts = new Map<number, number>()
    for (let client = 0; client < 2_000; client++) {
      let at = 0
      for (let attempt = 1; at < END_MS; attempt++) {
        at += Number(strategy(attempt, LOST))
        const window = Math.floor(at / 100)
        attempts.set(window, (attempts.get(window) ?? 0) + 1)
      }
    }
    const settled = Array.from(attempts).filter(([window]) => window >= 100 && window < END_MS / 100)
    expect(Math.max(...settled.map(([, count]) => count))).toBeLessThanOrEqual(200)
  })
})
