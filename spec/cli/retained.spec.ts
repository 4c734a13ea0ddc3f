import { connectAsync } from 'mqtt'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openBroker } from '../support/open-broker.js'
import { execute, jsonOf, openStore, start } from './test-io.js'

async function publisherAt(url: string) {
  const client = await connectAsync(url, { protocolVersion: 5 })
  onTestFinished(async () => client.endAsync(true))
  return (topic: string, value: string) => client.publishAsync(topic, value, { qos: 1, retain: true })
}

const PATTERNS = ['--topic', 'plant/+/temp', '--keys', 'of/{1}']

describe('retained', () => {
  it('copies retained messages of another broker to keys until it is interrupted', async () => {
    const { url } = await openStore()
    const from = `mqtt://127.0.0.1:${(await openBroker()).port}`
    const publish = await publisherAt(from)
    await publish('plant/7/temp', '20')
    const { stdout, stderr, exit, interrupt } = start(['retained', ...PATTERNS, '--from', from, '--url', url])
    await stdout.line(/^syncing /)
    expect(stdout.lines).toEqual([
      `syncing the topics plant/+/temp at ${from} → the keys 'of/{1}' at ${url}, 1 topic so far`,
    ])
    await publish('plant/8/temp', '21')
    await expect.poll(async () => execute(['get', 'of/8', '--url', url])).toMatchObject({ stdout: '21' })
    expect(await execute(['get', 'of/7', '--url', url])).toMatchObject({ stdout: '20' })
    interrupt()
    expect(await exit).toBe(0)
    expect(stderr.lines).toEqual(['stopped; 2 keys written, 0 messages published'])
  })

  it('accepts --key for --keys, uses the broker of the store, and prints an object with --json', async () => {
    const { url } = await openStore()
    const publish = await publisherAt(url)
    await publish('plant/7/temp', '20')
    const words = ['retained', '--topic', 'plant/+/temp', '--key', 'plant/{1}/temp', '--direction', 'both', '--json']
    const { stdout } = start([...words, '--url', url])
    expect(jsonOf(await stdout.line(/./))).toEqual({
      topic: 'plant/+/temp',
      keys: 'plant/{1}/temp',
      direction: 'both',
      from: url,
      broker: url,
      topics: 1,
    })
    await execute(['set', 'plant/8/temp', '21', '--url', url])
    await expect.poll(async () => execute(['get', 'plant/7/temp', '--url', url])).toMatchObject({ stdout: '20' })
  })

  it('reports an unreachable source broker, and messages that cannot be copied', async () => {
    const { url } = await openStore()
    const broker = await openBroker()
    const from = `mqtt://127.0.0.1:${broker.port}`
    const publish = await publisherAt(from)
    const { stdout, stderr, interrupt, exit } = start([
      'retained',
      ...PATTERNS,
      '--from',
      from,
      '--url',
      url,
      '--max-topics',
      '1',
    ])
    await stdout.line(/^syncing /)
    await publish('plant/7/temp', '20')
    await publish('plant/8/temp', '20')
    await stderr.line(/topic "plant\/8\/temp"/)
    await broker.close()
    await stderr.line(/cannot reach the topics plant\/\+\/temp at mqtt:.*, still trying: /)
    interrupt()
    expect(await exit).toBe(0)
  })

  it.each([
    [
      ['--topic', 'a/+'],
      /^rx-statestore: required option '--keys <pattern>' not specified; see rx-statestore retained/,
    ],
    [['--keys', 'a'], /required option '--topic <filter>' not specified/],
    [['--topic', 'a/+', '--keys', 'a'], /each of \{1\} once/],
    [['--topic', '$SYS/+', '--keys', '{1}'], /only your own topics/],
    [[...PATTERNS, '--from', 'nonsense'], /broker URL/],
    [[...PATTERNS, '--px', '1h', '--direction', 'to-topics'], /`expiresIn`/],
  ])('exits with code 2 for %j', async (words, expected) => {
    const { url } = await openStore()
    const { code, stderr } = await execute(['retained', ...words, '--url', url])
    expect([code, stderr]).toEqual([2, expect.stringMatching(expected)])
  })
})
