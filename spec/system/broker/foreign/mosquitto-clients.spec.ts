import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type StoreServer, serve } from '../../../../src/server/index.js'

const run = promisify(execFile)
const VERSIONS = ['5', '311'] as const

describe('mosquitto_pub and mosquitto_sub', () => {
  let store: StoreServer
  let port: string
  const publish = async (...flags: readonly string[]): Promise<unknown> => run('mosquitto_pub', ['-p', port, ...flags])

  /** Subscribes and resolves when the subscription is granted, with a promise for the process's output. */
  async function subscribe(
    ...flags: readonly string[]
  ): Promise<{ process: ChildProcess; lines: readonly string[]; printed: Promise<string[]> }> {
    // The output of mosquitto_sub to a pipe would be block-buffered.
    const process = spawn('stdbuf', ['-oL', 'mosquitto_sub', '-p', port, '-d', ...flags], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void process.kill())
    const lines: string[] = []
    const printed = new Promise<string[]>(resolve => process.once('close', () => resolve(lines)))
    await new Promise<void>((resolve, reject) => {
      process.once('error', reject)
      createInterface({ input: process.stdout }).on('line', line => {
        if (line.startsWith('Subscribed ')) resolve()
        // Other lines are debug output of -d.
        else if (line.startsWith('> ')) lines.push(line.slice(2))
      })
    })
    return { process, lines, printed }
  }

  beforeAll(async () => {
    store = await serve({ port: 0, wsPort: 0 })
    port = new URL(store.url).port
  })
  afterAll(() => store.close())

  describe.each(VERSIONS)('with protocol version %s', version => {
    const V = ['-V', version]

    it.each(['0', '1', '2'])('transfer a message at QoS %s', async qos => {
      const topic = `carry/${version}/${qos}`
      const { printed } = await subscribe(...V, '-t', topic, '-q', qos, '-C', '1', '-F', '> %t %q %r %p')
      await publish(...V, '-t', topic, '-q', qos, '-m', 'hello')
      expect(await printed).toEqual([`${topic} ${qos} 0 hello`])
    })

    it('mosquitto_sub receives a retained message, but not a deleted one', async () => {
      const topic = `kept/${version}`
      await publish(...V, '-t', topic, '-q', '1', '-r', '-m', 'old')
      await publish(...V, '-t', `${topic}/gone`, '-q', '1', '-r', '-m', 'old')
      await publish(...V, '-t', `${topic}/gone`, '-q', '1', '-r', '-n')
      const { printed } = await subscribe(...V, '-t', `${topic}/#`, '-q', '1', '-C', '2', '-F', '> %t %r %p')
      await publish(...V, '-t', `${topic}/end`, '-q', '1', '-m', 'end')
      expect(await printed).toEqual([`${topic} 1 old`, `${topic}/end 0 end`])
    })

    it('a mosquitto client leaves a will when it is killed', async () => {
      const topic = `will/${version}`
      const { printed } = await subscribe(...V, '-t', topic, '-q', '1', '-C', '1', '-F', '> %p')
      const mortal = await subscribe(
        ...V,
        '-t',
        'none',
        '--will-topic',
        topic,
        '--will-payload',
        'last',
        '--will-qos',
        '1',
      )
      mortal.process.kill('SIGKILL')
      expect(await printed).toEqual(['last'])
    })

    it('mosquitto_sub receives messages that were published while it was offline', async () => {
      const topic = `away/${version}`
      const expiry = version === '5' ? ['-x', '100'] : []
      const kept = [...V, ...expiry, '-i', `sleeper-${version}`, '-c', '-t', topic, '-q', '2', '-F', '> %q %p']
      const first = await subscribe(...kept, '-E')
      await first.printed
      for (const qos of ['1', '2']) await publish(...V, '-t', topic, '-q', qos, '-m', 'while away')
      const second = await subscribe(...kept, '-C', '2')
      expect(await second.printed).toEqual(['1 while away', '2 while away'])
    })
  })

  it('transfer properties', async () => {
    const { printed } = await subscribe('-V', '5', '-t', 'props', '-q', '1', '-C', '1', '-F', '> %C %R %D %E %P %p')
    const properties = [
      ['content-type', 'text/plain'],
      ['response-topic', 'answers'],
      ['correlation-data', 'which'],
      ['message-expiry-interval', '600'],
      ['user-property', 'a', '1'],
      ['user-property', 'a', '2'],
    ].flatMap(property => ['-D', 'publish', ...property])
    await publish('-V', '5', '-t', 'props', '-q', '1', '-m', 'x', ...properties)
    expect(await printed).toEqual([expect.stringMatching(/^text\/plain answers which (600|59\d) a:1 a:2 x$/)])
  })

  it('several mosquitto_sub processes share the messages of a group', async () => {
    const member = ['-V', '5', '-t', '$share/g/jobs', '-t', 'end', '-q', '1', '-F', '> %p']
    const members = [await subscribe(...member), await subscribe(...member)]
    for (let job = 0; job < 6; job++) await publish('-V', '5', '-t', 'jobs', '-q', '1', '-m', `${job}`)
    await expect.poll(() => members.flatMap(({ lines }) => lines)).toHaveLength(6)
    for (const { process } of members) process.kill('SIGTERM')
    const done = (await Promise.all(members.map(({ printed }) => printed))).flat()
    expect(done.sort()).toEqual(['0', '1', '2', '3', '4', '5'])
  })
})
