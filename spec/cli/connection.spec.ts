import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../harness/free-port.js'
import { listen } from '../support/listen.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { execute, openStore, start } from './test-io.js'

/** A CONNACK of MQTT 5 with the reason code Not authorized. */
const NOT_AUTHORIZED = Uint8Array.of(0x20, 3, 0, 135, 0)

/** Opens a broker that records the first packet of each client, and responds with a fixed packet. */
async function fakeBroker(answer: Uint8Array | undefined): Promise<{ url: string; port: string; requests: string[] }> {
  const requests: string[] = []
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    socket.once('data', data => {
      requests.push(data.toString('latin1'))
      if (answer) socket.write(answer)
    })
  })
  const port = String(await listen(server))
  return { url: `mqtt://127.0.0.1:${port}`, port, requests }
}

async function file(content: string): Promise<string> {
  const path = join(temporaryFolder(), 'content')
  await writeFile(path, content)
  return path
}

describe('The connection of a command', () => {
  it('get, set, del and vdel exit with code 1 and the cause when the broker is unreachable', async () => {
    const store = await openStore()
    await store.close()
    const commands = [
      ['get', 'k'],
      ['set', 'k', 'v'],
      ['del', 'k'],
      ['vdel', 'k', 'v'],
    ]
    // All at once, because each ends only at its timeout.
    const run = async (args: readonly string[]) => execute([...args, '--url', store.url, '--timeout', '2s'])
    for (const { code, stdout, stderr } of await Promise.all(commands.map(run))) {
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(
        /^rx-statestore: cannot reach mqtt:\/\/127\.0\.0\.1:\d+ within 2000 ms: [^\n]*ECONNREFUSED 127\.0\.0\.1:\d+; see \S+#timeout\n$/,
      )
    }
  })

  it('reports a server that does not respond', async () => {
    const { url } = await fakeBroker(undefined)
    const { code, stderr } = await execute(['get', 'k', '--url', url, '--timeout', '50'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^rx-statestore: cannot reach mqtt:[^ ]+ within 50 ms: [^\n]*(no answer|timeout)\n$/)
  })

  it('ends immediately when the broker rejects it, and the password is not printed', async () => {
    const { port } = await fakeBroker(NOT_AUTHORIZED)
    const { code, stderr } = await execute(['get', 'k', '--url', `mqtt://me:secret@127.0.0.1:${port}`])
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^rx-statestore: mqtt:\/\/127\.0\.0\.1:\d+: [^\n]*client "[^"\n]+": Not authorized; see \S+#connection-refused\n$/,
    )
    expect(stderr).not.toContain('secret')
  })

  it('ends a watch when the broker rejects it', async () => {
    const { url } = await fakeBroker(NOT_AUTHORIZED)
    const { exit, stderr } = start(['watch', 'k', '--url', url])
    expect(await exit).toBe(1)
    await stderr.line(/^rx-statestore: mqtt:.*Not authorized; see /)
  })

  it('waits until the timeout for a broker that starts late', async () => {
    const port = await freePort()
    const { exit } = start(['set', 'k', 'v', '--url', `mqtt://127.0.0.1:${port}`, '--timeout', '10000'])
    await openStore({ port })
    expect(await exit).toBe(0)
  })

  it('is configured by flags', async () => {
    const { url, requests } = await fakeBroker(NOT_AUTHORIZED)
    const flags = ['--client-id', 'panel-7', '--username', 'eve', '--password', 'wonder']
    await execute(['get', 'k', '--url', url, ...flags])
    for (const word of ['panel-7', 'eve', 'wonder']) expect(requests.join()).toContain(word)
  })

  it('is configured by the environment', async () => {
    const { port, requests } = await fakeBroker(NOT_AUTHORIZED)
    const env = {
      AIO_BROKER_HOSTNAME: '127.0.0.1',
      AIO_BROKER_TCP_PORT: port,
      AIO_MQTT_USE_TLS: 'false',
      AIO_MQTT_CLIENT_ID: 'panel-8',
      AIO_SAT_FILE: await file('token-of-pod'),
    }
    const { stderr } = await execute(['get', 'k'], { env })
    expect(stderr).toContain(`mqtt://127.0.0.1:${port}: `)
    for (const word of ['panel-8', 'K8S-SAT', 'token-of-pod']) expect(requests.join()).toContain(word)
  })

  it('--url precedes RX_STATESTORE_URL, which precedes the broker variables of a pod', async () => {
    const { url, requests } = await fakeBroker(NOT_AUTHORIZED)
    const pod = { AIO_BROKER_HOSTNAME: 'elsewhere.invalid' }
    const { stderr } = await execute(['get', 'k'], { env: { ...pod, RX_STATESTORE_URL: url } })
    expect(stderr).toContain(`${url}: `)
    const nowhere = { RX_STATESTORE_URL: 'mqtt://elsewhere.invalid' }
    expect((await execute(['get', 'k', '--url', url], { env: nowhere })).stderr).toContain(`${url}: `)
    expect(requests).toHaveLength(2)
  })

  it('uses the default URL for an empty RX_STATESTORE_URL', async () => {
    const { port } = await fakeBroker(NOT_AUTHORIZED)
    const env = {
      RX_STATESTORE_URL: '',
      AIO_BROKER_HOSTNAME: '127.0.0.1',
      AIO_BROKER_TCP_PORT: port,
      AIO_MQTT_USE_TLS: '0',
    }
    expect((await execute(['get', 'k'], { env })).stderr).toContain(`mqtt://127.0.0.1:${port}: `)
  })

  it('prefers flags to the environment', async () => {
    const { url, requests } = await fakeBroker(NOT_AUTHORIZED)
    const env = {
      AIO_BROKER_HOSTNAME: 'elsewhere.invalid',
      AIO_MQTT_CLIENT_ID: 'panel-8',
      AIO_SAT_FILE: await file('token-of-pod'),
    }
    await execute(['get', 'k', '--url', url, '--client-id', 'panel-9', '--username', 'eve'], { env })
    for (const word of ['panel-9', 'eve']) expect(requests.join()).toContain(word)
    for (const word of ['panel-8', 'K8S-SAT', 'token-of-pod']) expect(requests.join()).not.toContain(word)
  })

  it.each([
    ['a URL with another scheme', ['--url', 'http://127.0.0.1'], {}, /Expected a broker URL/],
    ['an RX_STATESTORE_URL with another scheme', [], { RX_STATESTORE_URL: 'localhost:1883' }, /Expected a broker URL/],
    ['a client id with a wildcard', ['--client-id', 'a#'], {}, /Expected `clientId`/],
    ['a --timeout of zero', ['--timeout', '0'], {}, /Expected a time, such as 500ms/],
    ['a --ca file that does not exist', ['--ca', '/nowhere/at/all'], {}, /cannot read the file of --ca: ENOENT/],
    ['a --cert file that does not exist', ['-C', '/nowhere/at/all'], {}, /cannot read the file of --cert: ENOENT/],
    [
      'a variable with an invalid value',
      [],
      { AIO_BROKER_HOSTNAME: 'b', AIO_BROKER_TCP_PORT: 'x' },
      /AIO_BROKER_TCP_PORT/,
    ],
    [
      'a variable that requires another one',
      [],
      { AIO_BROKER_TCP_PORT: '1883' },
      /AIO_BROKER_TCP_PORT requires AIO_BROKER_HOSTNAME/,
    ],
  ])('makes the command exit with code 2 for %s', async (_, flags, env, words) => {
    const { code, stdout, stderr } = await execute(['get', 'k', ...flags], { env })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(words)
    expect(stderr).toMatch(/^rx-statestore: [^\n]+; see rx-statestore get --help\n$/)
  })
})
