import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/core/util/clock.js'
import { ManualClock } from '../support/manual-clock.js'
import { openBroker } from '../support/open-broker.js'
import { CONNACK, grant, scriptedBroker } from '../support/scripted-broker.js'
import { openConsole } from './open-console.js'
import { execute, jsonOf, NOW, openStore } from './test-io.js'

describe('status', () => {
  it('prints the broker, the latency of the store, its number of keys and its clock offset', async () => {
    const store = await openStore({ clock: { ...systemClock, now: () => NOW + 5_000 } })
    await store.load([{ key: 'a', value: '1' }])
    const { code, stdout, stderr } = await execute(['status', '--url', store.url, '--client-id', 'me'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [broker, answer, keys, clock] = stdout.split('\n')
    expect(broker).toMatch(/^broker {2}mqtt:\/\/127\.0\.0\.1:\d+, connected in [\d.]+ ms as me$/)
    expect(answer).toMatch(/^store {3}answers in [\d.]+ ms$/)
    expect(keys).toBe('keys    1')
    expect(clock).toMatch(/^clock {3}\d+ ms ahead of this machine \(± \d+ ms\)$/)
  })

  it.each([
    ['ahead', 3_600_000],
    ['behind', -3_600_000],
    ['the same', 0],
  ])('measures the offset of a clock that is %s, within the printed uncertainty', async (_, offset) => {
    const { url } = await openStore({ clock: { ...systemClock, now: () => NOW + offset, monotonic: () => 0 } })
    const { stdout } = await execute(['status', '--json', '--url', url])
    const report = jsonOf(stdout)
    expect(report).toMatchObject({ broker: url, connected: expect.any(Number), answered: expect.any(Number), keys: 0 })
    const { clockOffset, clockUncertainty } = Object.assign({ clockOffset: NaN, clockUncertainty: NaN }, report)
    // The local clock stands still in this test, so the offset also includes the response time.
    expect(Math.abs(clockOffset - offset)).toBeLessThanOrEqual(2 * clockUncertainty + 1)
  })

  it('leaves no key behind, and writes no key with --no-write', async () => {
    const store = await openStore()
    await execute(['status', '--url', store.url])
    expect(store.stats.keys).toBe(0)
    const { keyspace } = store
    const { stdout } = await execute(['status', '--no-write', '--url', store.url])
    expect(stdout).toContain('clock   unknown: not measured (--no-write)\n')
    expect(store.keyspace).toBe(keyspace)
  })

  it('prints the state that a console reports, and uses the broker that the console reports', async () => {
    const { link, store } = await openConsole()
    const { code, stdout } = await execute(['status', '--console', link])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^broker {3}mqtt:/)
    expect(stdout).toMatch(/^running {2}for \d+m?s$/m)
    expect(stdout).toMatch(/^clients {2}\d connections?, including this one; 0 watches$/m)
    store.freeze(0)
    const counts = { networkConnections: expect.any(Number), refusedConnections: 0, refusedLogins: 0 }
    expect(jsonOf((await execute(['status', '--json', '--console', link])).stdout)).toMatchObject({
      console: { uptime: expect.any(Number), keys: expect.any(Number), watches: 0, frozen: false, drift: 0, ...counts },
    })
  })

  it('prints the state that a console reports after it has recorded rates', async () => {
    const clock = new ManualClock(Date.now())
    const { link } = await openConsole({}, clock)
    clock.advance(3_000)
    const { stdout } = await execute(['status', '--console', link])
    expect(stdout).toMatch(/^running {2}for \d+m?s$/m)
  })

  it('exits with code 1 when the broker is unreachable or reports that it has no store', async () => {
    const gone = await execute(['status', '--url', 'mqtt://127.0.0.1:1', '--timeout', '500ms'])
    expect(gone.code).toBe(1)
    expect(gone.stderr).toMatch(/^rx-statestore: cannot reach mqtt:\/\/127\.0\.0\.1:1 within 500 ms: .*ECONNREFUSED/)
    const { port } = await openBroker()
    const empty = await execute(['status', '--url', `mqtt://127.0.0.1:${port}`])
    expect(empty).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `rx-statestore: mqtt://127.0.0.1:${port} is reachable, but no state store listens there\n`,
    })
  })

  it('exits with code 1 when no store responds', async () => {
    const broker = await scriptedBroker(side => side.send(CONNACK), grant)
    const { code, stderr } = await execute(['status', '--url', broker.url, '--timeout', '1s'])
    expect([code, stderr]).toEqual([
      1,
      `rx-statestore: ${broker.url} is reachable, but no state store answers there within 1000 ms\n`,
    ])
  })
})
