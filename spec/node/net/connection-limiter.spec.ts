import { createServer, Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { Disconnection } from '../../../src/node/net/audit.js'
import { ConnectionLimiter } from '../../../src/node/net/connection-limiter.js'

/** A fake connection from an address. */
const visitFrom = (address: string): Socket => Object.defineProperty(new Socket(), 'remoteAddress', { value: address })

function open(maxConnections: number, maxConnectionsPerAddress: number) {
  const cuts: Disconnection[] = []
  const visitors = new ConnectionLimiter({ maxConnections, maxConnectionsPerAddress }, cut => cuts.push(cut))
  const server = createServer()
  const heard: Socket[] = []
  server.on('connection', socket => heard.push(socket))
  visitors.guard(server, 'mqtt')
  const come = (address: string): Socket => {
    const visit = visitFrom(address)
    server.emit('connection', visit)
    return visit
  }
  const leave = async (socket: Socket): Promise<void> =>
    new Promise(resolve => socket.once('close', () => resolve()).destroy())
  return { visitors, heard, cuts, come, leave }
}

describe('ConnectionLimiter', () => {
  it('accepts a limited number of connections, and silently closes one more', async () => {
    const { visitors, heard, cuts, come, leave } = open(2, 2)
    const first = come('192.0.2.1')
    come('192.0.2.2')
    expect(come('192.0.2.3').destroyed).toBe(true)
    expect({ heard: heard.length, count: visitors.count, refused: visitors.refused }).toEqual({
      heard: 2,
      count: 2,
      refused: 1,
    })
    expect(cuts).toEqual([{ reason: 'limit of 2 connections', address: '192.0.2.3', listener: 'mqtt' }])
    await leave(first)
    expect(come('192.0.2.3').destroyed).toBe(false)
  })

  it('reports the connections of each address, and how many were refused', async () => {
    const { visitors, come, leave } = open(10, 1)
    const first = come('192.0.2.1')
    come('192.0.2.1')
    come('2001:db8::1')
    expect([...visitors.addresses]).toEqual([
      ['192.0.2.1', { connections: 1, refused: 1 }],
      ['2001:db8:0:0::/64', { connections: 1, refused: 0 }],
    ])
    await leave(first)
    expect([...visitors.addresses]).toHaveLength(1)
  })

  it('accepts a limited number of connections per address', async () => {
    const { heard, cuts, come, leave } = open(10, 1)
    const first = come('192.0.2.1')
    expect(come('192.0.2.1').destroyed).toBe(true)
    expect(come('192.0.2.2').destroyed).toBe(false)
    await leave(first)
    expect(come('192.0.2.1').destroyed).toBe(false)
    expect(heard).toHaveLength(3)
    expect(cuts.map(({ reason }) => reason)).toEqual(['limit of 1 connections per address'])
  })

  it.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])('exempts the local address %s', address => {
    const { come } = open(10, 1)
    for (let i = 0; i < 10; i++) expect(come(address).destroyed).toBe(false)
    expect(come(address).destroyed).toBe(true)
  })
})
