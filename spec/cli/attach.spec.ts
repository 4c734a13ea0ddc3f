import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openBroker } from '../support/open-broker.js'
import { StoreClient } from '../support/store-client.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { command } from '../support/words.js'
import { execute, jsonOf, start } from './test-io.js'

const brokerUrl = async (port = 0): Promise<string> => `mqtt://127.0.0.1:${(await openBroker({ port })).port}`

describe('attach', () => {
  it('serves a store through an existing broker, and stops cleanly when interrupted', async () => {
    const url = await brokerUrl()
    const { stdout, stderr, exit, interrupt } = start(['attach', url])
    await stdout.line(new RegExp(`^serving at ${url}$`))
    expect(await execute(['set', 'k', 'v', '--url', url])).toMatchObject({ code: 0 })
    expect(await execute(['get', 'k', '--url', url])).toMatchObject({ code: 0, stdout: 'v' })
    interrupt()
    expect(await exit).toBe(0)
    expect(stderr.lines).toEqual(['stopped'])
  })

  it('takes the broker from --url or the environment, and prints an object with --json', async () => {
    const url = await brokerUrl()
    const { stdout } = start(['attach', '--json'], { env: { RX_STATESTORE_URL: url } })
    expect(jsonOf(await stdout.line(/./))).toEqual({ broker: url, life: expect.stringMatching(/^[0-9a-f]{16}$/) })
  })

  it('prints the address of the metrics, which end with the store', async () => {
    const { stdout, exit, interrupt } = start(['attach', await brokerUrl(), '--metrics', '0'])
    const url = (await stdout.line(/^metrics on /)).replace('metrics on ', '')
    await stdout.line(/^serving at/)
    expect(await (await fetch(url)).text()).toContain('rx_statestore_ready 1')
    interrupt()
    expect(await exit).toBe(0)
    await expect(fetch(url)).rejects.toThrow()
  })

  it.each([
    [['--metrics-token-file', 'token'], '--metrics-token-file requires --metrics'],
    [['--metrics', '0.0.0.0:0'], 'other machines can reach 0.0.0.0'],
  ])('rejects %j before it connects, and with --check-config', async (args, message) => {
    for (const more of [[], ['--check-config']]) {
      const { code, stderr } = await execute(['attach', 'mqtt://127.0.0.1:1', ...args, ...more])
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
    }
  })

  it('keeps its keys in a directory', async () => {
    const [url, data] = [await brokerUrl(), temporaryFolder()]
    const first = start(['attach', url, '--data', data])
    await first.stdout.line(/^serving/)
    await execute(['set', 'k', 'v', '--url', url])
    first.interrupt()
    await first.exit
    await start(['attach', url, '--data', data]).stdout.line(/^serving/)
    expect(await execute(['get', 'k', '--url', url])).toMatchObject({ stdout: 'v' })
  })

  it('waits while another store serves, and takes over when that store stops', { tags: 'slow' }, async () => {
    const url = await brokerUrl()
    const first = start(['attach', url])
    await first.stdout.line(/^serving/)
    const second = start(['attach', url])
    await second.stderr.line(/^another store serves at .*; waiting to take over$/)
    first.interrupt()
    await second.stdout.line(/^serving/)
  })

  it('reports an unreachable broker once, and serves as soon as the broker is reachable', {
    tags: 'slow',
  }, async () => {
    const { port, close } = await (async () => {
      const broker = await openBroker()
      return { port: broker.port, close: () => broker.close() }
    })()
    await close()
    const { stdout, stderr } = start(['attach', `mqtt://127.0.0.1:${port}`])
    await stderr.line(/^cannot reach mqtt:\/\/127\.0\.0\.1:\d+, still trying: connect ECONNREFUSED/)
    await brokerUrl(port)
    await stdout.line(/^serving/)
    expect(stderr.lines).toHaveLength(1)
  })

  it.each([
    [['http://localhost'], /Expected a broker URL/],
    [['mqtt://localhost', '--policy', '/nowhere'], /cannot read the file of --policy/],
    [['mqtt://localhost', '--persist', 'none'], /Expected `data` together with `persist`/],
  ])('exits with code 2 for %j', async (args, words) => {
    const { code, stderr } = await execute(['attach', ...args])
    expect(code).toBe(2)
    expect(stderr).toMatch(words)
  })

  it('exits with code 2 for a policy without --identity-property', async () => {
    const policy = join(temporaryFolder(), 'policy.yaml')
    await writeFile(policy, '[]')
    const { code, stderr } = await execute(['attach', 'mqtt://localhost', '--policy', policy])
    expect([code, stderr]).toEqual([2, expect.stringContaining('requires `identityProperty`')])
  })

  it('reads its policy again on SIGHUP, and keeps the previous one if the file becomes invalid', async () => {
    const rules = (keys: string): string =>
      `- { principals: { clientIds: [panel] }, stateStoreResources: [{ method: Write, keyType: Pattern, keys: ["${keys}"] }] }`
    const [policy, url] = [join(temporaryFolder(), 'policy.yaml'), await brokerUrl()]
    await writeFile(policy, rules('a'))
    const flags = ['--policy', policy, '--identity-property', 'client_id']
    const { stdout, stderr, interrupt } = start(['attach', url, ...flags])
    await stdout.line(/^serving/)
    const panel = await StoreClient.ready(url, 'panel')
    const set = async (key: string): Promise<string> => {
      const request = { timestamp: `${Date.now()}:0:C`, userProperties: { client_id: 'panel' } }
      return String((await panel.request(command(`SET ${key} v`), request)).payload).trim()
    }
    expect(await set('b')).toBe('-ERR not authorized')
    await writeFile(policy, rules('b'))
    interrupt('SIGHUP')
    await stderr.waitForLine(`reloaded ${policy}`)
    expect([await set('a'), await set('b')]).toEqual(['-ERR not authorized', '+OK'])
    await writeFile(policy, '[{')
    interrupt('SIGHUP')
    await stderr.line(/policy\.yaml: .*; the previous content stays in effect$/)
    expect(await set('b')).toBe('+OK')
  })

  it('exits with code 1 for a directory that no store created', async () => {
    const data = temporaryFolder()
    await writeFile(join(data, 'letter.txt'), 'dear all')
    const { code, stderr } = await execute(['attach', await brokerUrl(), '--data', data])
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^rx-statestore: mqtt:\S+: .*letter\.txt|^rx-statestore: mqtt/),
    ])
  })
})
