import { describe, expect, it } from 'vitest'
import { nightly } from '../../support/effort.js'
import type { RawSocket } from '../../support/raw-socket.js'
import { jsonFrame } from './support/hub-frames.js'
import { openHubScene, prepareHubScenes } from './support/hub-scene.js'

prepareHubScenes()

const MIB = 1024 * 1024

const send = async (attacker: RawSocket, frames: readonly object[]): Promise<void> =>
  attacker.send(Buffer.concat(frames.map(jsonFrame)))

describe('the memory of a hub that a user can occupy', () => {
  it('sessions in a thousand groups with long names take little memory when offline', async () => {
    const scene = await openHubScene({ maxWaitingBytes: 32 * MIB, maxByteRatePerUser: 16 * MIB })
    const before = await scene.heldBytes()
    await scene.runAttack(async () => {
      for (let n = 0; n < nightly(200, 40); n++) {
        const attacker = await scene.connect({ user: 'mallory', mayAll: true })
        const group = (at: number): string => `${n} ${at} ${'x'.repeat(1_000)}`
        await send(
          attacker,
          Array.from({ length: 1_000 }, (_, at) => ({ type: 'joinGroup', group: group(at), ackId: at })),
        )
        attacker.hangUp()
      }
    })
    expect(Math.round(((await scene.heldBytes()) - before) / MIB), 'MiB').toBeLessThan(20)
    expect((await scene.stats()).waitingBytes).toBeLessThan(5 * MIB)
  })

  it("memory pressure ends the attacker's sessions, not those that share its messages", async () => {
    const scene = await openHubScene({ maxWaitingBytes: 16 * MIB, maxByteRatePerUser: 1024 * MIB })
    await scene.runAttack(async () => {
      const sender = await scene.connect({ user: 'sender', mayAll: true })
      const slow = await scene.connectAll(20, n => ({ user: `slow-${n}`, mayAll: true, address: `198.51.100.${n}` }))
      for (const member of slow) await send(member, [{ type: 'joinGroup', group: 'shared', ackId: 1 }])
      const greedy = await scene.connectAll(10, () => ({ user: 'mallory', mayAll: true }))
      for (const [n, member] of greedy.entries())
        await send(member, [{ type: 'joinGroup', group: `own-${n}`, ackId: 1 }])
      const data = 'x'.repeat(500_000)
      for (let n = 0; n < 10; n++)
        await send(sender, [{ type: 'sendToGroup', group: 'shared', dataType: 'text', data }])
      for (let n = 0; n < 30; n++) {
        await send(sender, [{ type: 'sendToGroup', group: `own-${n % 10}`, dataType: 'text', data, ackId: n + 1 }])
      }
      await expect.poll(() => greedy.filter(({ ended }) => ended).length, { timeout: 10_000 }).toBeGreaterThan(0)
      expect(slow.filter(({ ended }) => ended)).toEqual([])
    })
  })

  it('detached anonymous sessions of one address do not keep other clients from connecting', async () => {
    const scene = await openHubScene({ maxConnections: 120, maxConnectionsPerAddress: 60 })
    await scene.runAttack(async () => {
      for (let n = 0; n < 200; n++) {
        const attacker = await scene.connect({ address: `192.0.2.${1 + (n % 3)}` })
        attacker.hangUp()
      }
      const innocents = await scene.connectAll(40, n => ({ address: `198.51.100.${n}` }))
      await expect.poll(() => innocents.filter(({ received }) => received < 200).length).toBe(0)
      expect(innocents.filter(({ ended }) => ended).length).toBe(0)
    })
    expect((await scene.stats()).sessions).toBeLessThanOrEqual(120)
  })
})
