import { createServer, Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { Disconnection } from '../../../src/node/net/audit.js'
import { ConnectionLimiter } from '../../../src/node/net/connection-limiter.js'

/** Creates a fake connection from an address. */
const fakeSocket = (address: string): Socket => Object.defineProperty(new Socket(), 'remoteAddress', { value: address })

function open(maxConnections: number, maxConnectionsPerAddress: number) {
  const disconnections: Disconnection[] = []
  const limiter = new ConnectionLimiter({ maxConnections, maxConnectionsPerAddress }, cut => disconnections.push(cut))
  const server = createServer()
  const accepted: Socket[] = []
  server.on('connection', peer => accepted.push(peer))
  limiter.guard(server, 'mqtt')
  const connectFrom = (address: string): Socket => {
    const socket = fakeSocket(address)
    server.emit('connection', socket)
    return socket
  }
  const leave = async (peer: Socket): Promise<void> =>
    new Promise(resolve => peer.once('close', () => resolve()).destroy())
  return { limiter, accepted, disconnections, connectFrom, leave }
}

describe('ConnectionLimiter', () => {
  it('accepts a limited number of connections, and silently closes further connections', async () => {
    const { limiter, accepted, disconnections, connectFrom, leave } = open(2, 2)
    const first = connectFrom('192.0.2.1')
    connectFrom('192.0.2.2')
    expect(connectFrom('192.0.2.3').destroyed).toBe(true)
    expect({ accepted: accepted.length, count: limiter.count, refused: limiter.refused }).toEqual({
      accepted: 2,
      count: 2,
      refused: 1,
    })
    expect(disconnections).toEqual([
      { limit: 'connections', reason: 'limit of 2 connections', address: '192.0.2.3', listener: 'mqtt' },
    ])
    await leave(first)
    expect(connectFrom('192.0.2.3').destroyed).toBe(false)
  })

  it('reports the connections of each address, and how many were refused', async () => {
    const { limiter, connectFrom, leave } = open(10, 1)
    const first = connectFrom('192.0.2.1')
    connectFrom('192.0.2.1')
    connectFrom('2001:db8::1')
    expect([...limiter.addresses]).toEqual([
      ['192.0.2.1', { connections: 1, refused: 1 }],
      ['2001:db8:0:0::/64', { connections: 1, refused: 0 }],
    ])
    await leave(first)
    expect([...limiter.addresses]).toHaveLength(1)
  })

  it('accepts a limited number of connections per address', async () => {
    const { accepted, disconnections, connectFrom, leave } = open(10, 1)
    const first = connectFrom('192.0.2.1')
    expect(connectFrom('192.0.2.1').destroyed).toBe(true)
    expect(connectFrom('192.0.2.2').destroyed).toBe(false)
    await leave(first)
    expect(connectFrom('192.0.2.1').destroyed).toBe(false)
    expect(accepted).toHaveLength(3)
    expect(disconnections.map(({ reason }) => reason)).toEqual(['limit of 1 connections per address'])
  })

  it.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])('does not limit connections from the local address %s', address => {
    const { connectFrom } = open(10, 1)
    for (let i = 0; i < 10; i++) expect(connectFrom(address).destroyed).toBe(false)
    expect(connectFrom(address).destroyed).toBe(true)
  })
})
