import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Authority } from '../../harness/certificates.js'
import { freePort } from '../../harness/free-port.js'
import { subscribe } from '../../src/core/diagnostics/index.js'
import { firstOf, type StoreServer } from '../../src/server/index.js'
import { backwards } from '../support/backwards.js'
import { listen } from '../support/diagnostics.js'
import { eventually } from '../support/eventually.js'
import { layLink } from '../support/link.js'
import { ManualClock } from '../support/manual-clock.js'
import { openBroker } from '../support/open-broker.js'
import { openClient } from '../support/open-client.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { execute, jsonOf, openStore, start } from './test-io.js'

const STEPS = ['connect', 'message', 'set', 'get', 'watch', 'delete', 'notify']
/** The default timeout of the command, which a manual clock measures in these tests. */
const TIMEOUT_MS = 5_000
const LOGIN = ['--username', 'panel', '--password', 'lenap']
/** The rights in the command's help. */
const RIGHTS = {
  connect: '{ method: Connect, clientIds: ["rx-statestore-probe-*"] }',
  publish: '{ method: Publish, topics: ["rx-statestore/probe/+"] }',
  subscribe: '{ method: Subscribe, topics: ["rx-statestore/probe/+"] }',
  keys: '{ method: ReadWrite, keyType: Pattern, keys: ["rx-statestore/probe/*"] }',
}

const secured = ({ connect, publish, subscribe, keys }: Partial<typeof RIGHTS> = RIGHTS) =>
  openStore({
    authenticate: firstOf([backwards()]),
    policy: `
- principals: { usernames: [panel] }
  brokerResources: [${[connect, publish, subscribe].filter(Boolean).join(', ')}]
  stateStoreResources: [${keys ?? ''}]`,
  })

/** Returns the events of clients from now on, such as `connected panel`. */
function connectionEvents(): readonly string[] {
  const events: string[] = []
  onTestFinished(
    subscribe('rx-statestore:connection', ({ type, clientId }) => {
      events.push(`${type} ${clientId}`)
    }),
  )
  return events
}

/** Freezes a store for a minute when the probe has set its key. Resolves then. */
const frozenAfterSet = async (store: StoreServer): Promise<void> =>
  new Promise(resolve => {
    onTestFinished(
      subscribe('rx-statestore:server:change', ({ type }) => {
        if (type !== 'inserted') return
        store.freeze(60_000)
        resolve()
      }),
    )
  })

describe('probe', () => {
  it('prints the time of each step, leaves no key, and exits with code 0', async () => {
    const store = await openStore()
    const { code, stdout, stderr } = await execute(['probe', store.url], { columns: 80, env: { NO_COLOR: '1' } })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [first, ...rows] = stdout.trimEnd().split('\n')
    expect(first).toMatch(/^OK: mqtt:\/\/127\.0\.0\.1:\d+ passed all steps in [\d.]+ ms$/)
    for (const [index, step] of STEPS.entries()) expect(rows[index]).toMatch(new RegExp(`^${step} +\\d+\\.\\d ms$`))
    expect(rows).toHaveLength(STEPS.length)
    expect(store.stats).toMatchObject({ keys: 0, watches: 0, sessions: 0 })
  })

  it('appends performance data to the first line in a pipe, and prints one object with --json', async () => {
    const { url } = await openStore()
    const { stdout } = await execute(['probe', '--url', url, '--warn', '1m'])
    expect(stdout).toMatch(/^OK: [^|]+ \| total=[\d.]+ms;60000;5000;0 connect=[\d.]+ms;;;0( \w+=[\d.]+ms;;;0){6}\n/)
    const report = jsonOf((await execute(['probe', '--json', '--url', url])).stdout)
    const steps = STEPS.map(step => ({ step, ms: expect.any(Number) }))
    expect(report).toEqual({ status: 'ok', broker: url, totalMs: expect.any(Number), steps })
  })

  it('works over WebSocket and over TLS with a login that has only the rights in its help', async () => {
    const authority = new Authority('/CN=Plant')
    const store = await openStore({
      authenticate: firstOf([backwards()]),
      tls: authority.issue('/CN=store'),
      policy: `
- principals: { usernames: [panel] }
  brokerResources: [${[RIGHTS.connect, RIGHTS.publish, RIGHTS.subscribe].join(', ')}]
  stateStoreResources: [${RIGHTS.keys}]`,
    })
    for (const url of [store.url, store.wsUrl]) {
      const { code, stdout } = await execute(['probe', url, '--ca', authority.file, ...LOGIN])
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`OK: ${new URL(url).protocol}`) })
    }
    const { stdout: help } = await execute(['probe', '--help'])
    for (const right of Object.values(RIGHTS)) expect(help).toContain(`- ${right}`)
  })

  it('the policy in the documentation is sufficient for the command beside it', async () => {
    const page = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8')
    const [, policy] = /```yaml\n(- principals: \{ usernames: \[monitor\] \}\n[\s\S]*?)```/.exec(page) ?? []
    const authority = new Authority('/CN=Plant')
    const { url } = await openStore({
      authenticate: firstOf([backwards()]),
      tls: authority.issue('/CN=store'),
      policy,
    })
    const [, user = ''] = /^export AIO_MQTT_USERNAME=(.*)$/m.exec(page) ?? []
    const [, command = ''] = /^rx-statestore (probe mqtts:.*) --warn 500ms$/m.exec(page) ?? []
    const args = command.replace('mqtts://10.0.0.5:8883', url).replace('ca.pem', authority.file).split(' ')
    const file = join(temporaryFolder(), 'monitor-password')
    writeFileSync(file, 'rotinom\n')
    const env = { AIO_MQTT_USERNAME: user, AIO_MQTT_PASSWORD_FILE: file }
    expect(await execute(args, { env })).toMatchObject({ code: 0 })
    expect(await execute([...args, '--client-id', 'plant-1'], { env })).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('must permit Connect'),
    })
  })

  it('exits with code 1 if the check takes longer than --warn', async () => {
    const { url } = await openStore()
    const { code, stdout } = await execute(['probe', url, '--warn', '1ms'])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^WARNING: \S+ passed all steps in [\d.]+ ms, which is more than 1 ms \| total=/)
  })

  it('two probes at the same time do not disturb each other', async () => {
    const { url } = await openStore()
    const both = await Promise.all([execute(['probe', url]), execute(['probe', url])])
    expect(both.map(({ code }) => code)).toEqual([0, 0])
  })

  it('only the flag sets the client id, so that a probe never disconnects an application', async () => {
    const store = await openStore()
    const events = connectionEvents()
    openClient(store.url, { clientId: 'panel' })
    await eventually(() => events.length === 1)
    const env = { AIO_MQTT_CLIENT_ID: 'panel' }
    expect(await execute(['probe', store.url], { env })).toMatchObject({ code: 0 })
    expect(await execute(['probe', store.url, '--client-id', 'check'], { env })).toMatchObject({ code: 0 })
    expect(events).toEqual([
      'connected panel',
      expect.stringMatching(/^connected rx-statestore-probe-/),
      expect.stringMatching(/^closed rx-statestore-probe-/),
      'connected check',
      'closed check',
    ])
  })

  it('ends at its timeout, before the connections to a frozen broker are closed', async () => {
    const store = await openStore()
    const events = connectionEvents()
    const frozen = frozenAfterSet(store)
    const clock = new ManualClock()
    const { exit } = start(['probe', store.url, '--client-id', 'check'], { clock })
    await frozen
    clock.advance(TIMEOUT_MS)
    expect(await exit).toBe(2)
    expect(events).toEqual(['connected check'])
    store.freeze(0)
    await eventually(() => events.length === 2 && store.stats.sessions === 0)
  })

  it('exits with code 2 and names the step when the broker is unreachable or has no store', async () => {
    const nowhere = `mqtt://127.0.0.1:${await freePort()}`
    const events = connectionEvents()
    const clock = new ManualClock()
    const { exit, stdout, stderr } = start(['probe', nowhere, '--client-id', 'check'], { clock })
    await eventually(() => events.includes('disconnected check'))
    clock.advance(TIMEOUT_MS)
    expect([await exit, stderr.text]).toEqual([2, ''])
    expect(stdout.text).toMatch(
      new RegExp(
        `^CRITICAL: ${nowhere}, connect: no answer within 5000 ms: connect ECONNREFUSED .*\nconnect +failed\n$`,
      ),
    )
    const { port } = await openBroker()
    const empty = await execute(['probe', '--json', `mqtt://127.0.0.1:${port}`])
    expect(empty.code).toBe(2)
    const error = expect.stringContaining('No state store listens at this broker')
    expect(jsonOf(empty.stdout)).toMatchObject({ status: 'critical', failedStep: 'set', error })
  })

  it('exits with code 2 for an unreachable broker also when the reader of its output has exited', async () => {
    const { stdout, exit } = start(['probe', `mqtt://127.0.0.1:${await freePort()}`, '--timeout', '100ms'])
    stdout.broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
    expect(await exit).toBe(2)
  })

  it('whose connections break leaves no session', async () => {
    let isCut = false
    const maySubscribe = () => {
      link.cut()
      isCut = true
      return true
    }
    const broker = await openBroker({}, { maySubscribe })
    const link = await layLink(`mqtt://127.0.0.1:${broker.port}`)
    const clock = new ManualClock()
    const events = connectionEvents()
    const { exit } = start(['probe', link.url, '--client-id', 'check'], { clock })
    await eventually(() => isCut)
    clock.advance(TIMEOUT_MS)
    expect(await exit).toBe(2)
    await eventually(() => events.includes('closed check') && broker.stats.connections === 0)
    expect(broker.stats.sessions).toBe(0)
  })

  it('a key that the probe cannot delete expires after the timeout', async () => {
    const storeClock = new ManualClock(Date.now())
    const store = await openStore({ clock: storeClock })
    const changes = listen('rx-statestore:server:change')
    const frozen = frozenAfterSet(store)
    const clock = new ManualClock()
    const events = connectionEvents()
    const { exit, stdout } = start(['probe', store.url, '--client-id', 'check'], { clock })
    await frozen
    clock.advance(TIMEOUT_MS)
    expect(await exit).toBe(2)
    expect(stdout.text).toMatch(/^CRITICAL: .*, (set|get): no answer within 5000 ms/)
    store.freeze(0)
    storeClock.advance(TIMEOUT_MS - 1)
    expect(store.stats.keys).toBe(1)
    storeClock.advance(1)
    expect(changes.map(({ type }) => type)).toEqual(['inserted', 'expired'])
    await eventually(() => events.includes('closed check'))
  })

  it.each([
    ['connect', { ...RIGHTS, connect: '' }, 'permit Connect'],
    ['message', { ...RIGHTS, publish: '' }, 'permit Publish and Subscribe for the topics rx-statestore/probe/+'],
    ['message', { ...RIGHTS, subscribe: '' }, 'permit Publish and Subscribe for the topics rx-statestore/probe/+'],
    ['set', { ...RIGHTS, keys: '' }, 'permit ReadWrite for the keys rx-statestore/probe/* (keyType: Pattern)'],
    ['get', { ...RIGHTS, keys: RIGHTS.keys.replace('ReadWrite', 'Write') }, 'permit ReadWrite for the keys'],
  ])('names the right that is missing at the step %s', async (step, rights, advice) => {
    const { url } = await secured(rights)
    const { code, stdout } = await execute(['probe', url, ...LOGIN])
    expect(code).toBe(2)
    expect(stdout).toContain(`CRITICAL: ${url}, ${step}: `)
    expect(stdout).toContain(`; the policy must ${advice}`)
  })

  it('immediately exits with code 2 when the password is wrong', async () => {
    const { url } = await secured()
    const { code, stdout } = await execute(['probe', url, '--username', 'panel', '--password', 'panel'])
    expect([code, stdout]).toEqual([2, expect.stringMatching(/, connect: .*[Bb]ad user name or password/i)])
  })

  it('exits with code 3 for wrong arguments', async () => {
    const unknown = await execute(['probe', '--wran', '1s'])
    expect(unknown).toMatchObject({ code: 3, stdout: '' })
    expect(unknown.stderr).toMatch(/unknown option '--wran'.*; see rx-statestore probe --help\n$/)
    for (const args of [['--timeout', 'soon'], ['http://127.0.0.1'], ['--ca', '/nowhere/ca.pem']])
      expect(await execute(['probe', ...args])).toMatchObject({ code: 3, stdout: '' })
    expect(await execute(['--timeout', 'soon', 'probe'])).toMatchObject({ code: 3 })
  })
})
