import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Authority, type Pair } from '../../../harness/certificates.js'
import { ClientHandshakes, MAX_HANDSHAKE_BYTES } from '../../../src/node/net/client-handshakes.js'
import { tlsOptions } from '../../../src/node/net/tls.js'
import { listen } from '../../support/listen.js'
import { ManualClock } from '../../support/manual-clock.js'

let root: Authority
let client: Pair
let forged: Pair
/** A chain of about 65 KiB. */
let forgedChain: string

beforeAll(() => {
  root = new Authority('/CN=Root')
  client = root.issue('/CN=panel')
  const other = new Authority('/CN=Root')
  forged = other.issue('/CN=evil')
  forgedChain = forged.cert + other.cert.repeat(160)
})

/** A clock by which each step of a handshake takes a given time. */
class SlowClock extends ManualClock {
  stepMs = 0
  readonly pauses: number[] = []

  override monotonic(): number {
    if (this.stepMs > 0) this.advance(this.stepMs)
    return super.monotonic()
  }

  override schedule(delay: number, task: () => void): () => void {
    this.pauses.push(delay)
    return super.schedule(delay, task)
  }
}

async function open() {
  const clock = new SlowClock()
  const server = createServer(tlsOptions({ ...root.issue('/CN=localhost'), clientCa: root.cert }))
  new ClientHandshakes(clock).guard(server)
  const failures: unknown[] = []
  const accepted: TLSSocket[] = []
  server.on('tlsClientError', error => failures.push('code' in error ? error.code : error))
  server.on('secureConnection', socket => {
    accepted.push(socket)
    socket.on('error', () => undefined)
    socket.on('data', data => socket.write(data))
    socket.on('end', () => socket.end('end'))
  })
  const port = await listen(server)
  const dial = (options: object): TLSSocket => {
    const socket = connect({ port, host: '127.0.0.1', ca: root.cert, ...options })
    socket.on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    return socket
  }
  return { clock, failures, accepted, dial, port }
}

const echo = async (socket: TLSSocket, data: Buffer): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let size = 0
  const done = new Promise<void>(resolve => {
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (size >= data.length) resolve()
    })
  })
  socket.write(data)
  await done
  return Buffer.concat(chunks)
}

describe.each(['TLSv1.2', 'TLSv1.3'] as const)('A server that requests certificates with %s', version => {
  const versions = { minVersion: version, maxVersion: version }

  it('a handshake with a long chain ends before the chain is read', async () => {
    const { dial, failures, accepted } = await open()
    const socket = dial({ ...versions, cert: forgedChain, key: forged.key })
    await new Promise(resolve => socket.once('close', resolve))
    await expect.poll(() => failures).toEqual(['HANDSHAKE_TOO_LONG'])
    expect(accepted).toEqual([])
  })

  it('data that follows the handshake does not count as part of it', async () => {
    const { dial } = await open()
    const data = Buffer.alloc(8 * MAX_HANDSHAKE_BYTES, 'x')
    // The data is written at once with the last message of the handshake.
    expect((await echo(dial({ ...versions, ...client }), data)).equals(data)).toBe(true)
  })

  it('a trusted client has its addresses, and both sides can end the connection', async () => {
    const { dial, accepted } = await open()
    const socket = dial({ ...versions, ...client, allowHalfOpen: true })
    await echo(socket, Buffer.from('a'))
    const [secure] = accepted
    expect(secure).toMatchObject({ remoteAddress: '127.0.0.1', remotePort: socket.localPort, authorized: true })
    expect(secure?.localPort).toBe(socket.remotePort)
    socket.end()
    const [last] = await once(socket, 'data')
    expect(String(last)).toBe('end')
    await Promise.all([once(socket, 'close'), secure && once(secure, 'close')])
  })
})

describe('The time for handshakes of an address', () => {
  /** Completes several handshakes whose steps take 40 ms each, and ends the pauses between them. */
  async function shakeHands({ clock, dial }: Awaited<ReturnType<typeof open>>, identity: object): Promise<void> {
    clock.stepMs = 40
    for (let count = 0; count < 8; count++) {
      let isDone = false
      void echo(dial(identity), Buffer.from('a')).then(() => {
        isDone = true
      })
      await expect
        .poll(() => {
          if (clock.pending > 0) clock.advance(1_000)
          return isDone
        })
        .toBe(true)
    }
    clock.stepMs = 0
  }

  it.each([
    ['without a trusted certificate use it up', () => forged, true],
    ['with a trusted certificate do not use it up', () => client, false],
    ['without a certificate do not use it up', () => ({}), false],
  ])('handshakes %s', async (_, identity, isPaused) => {
    const server = await open()
    await shakeHands(server, identity())
    expect(server.clock.pauses.length > 0).toBe(isPaused)
  })

  it('a client that disconnects while its handshake is paused leaves no timer', async () => {
    const { clock, dial } = await open()
    clock.stepMs = 400
    await echo(dial(forged), Buffer.from('a'))
    const next = dial(client)
    await expect.poll(() => clock.pending).toBe(1)
    next.destroy()
    clock.stepMs = 0
    clock.advance(10_000)
    await expect.poll(() => clock.pending).toBe(0)
  })

  it('a first record with more than a ClientHello waits like a certificate', async () => {
    const { clock, dial, port } = await open()
    clock.stepMs = 400
    await echo(dial(forged), Buffer.from('a'))
    const socket = connectTcp(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    // The record has six bytes, of which the ClientHello has four.
    socket.write(Buffer.from([22, 3, 1, 0, 6, 1, 0, 0, 0, 11, 0]))
    await expect.poll(() => clock.pending).toBe(1)
  })

  it('bytes that are not TLS end the connection', async () => {
    const { port, failures } = await open()
    const socket: Socket = connectTcp(port, '127.0.0.1')
    socket.write('this is not TLS')
    await expect.poll(() => failures).toHaveLength(1)
    socket.destroy()
  })
})
