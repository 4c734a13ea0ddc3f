import { randomBytes } from 'node:crypto'
import { describe, it } from 'vitest'
import { UPGRADE, webSocketFrame } from '../../../harness/web-socket.js'
import { nightly } from '../../support/effort.js'
import { connect, publish, variable } from '../../support/packets.js'
import { openScene, prepareScenes } from './support/scene.js'

prepareScenes()

const MIB = 1024 * 1024
/**
 * The permitted growth for 1.6 GiB announced and 800 MiB sent. Most of the data is discarded before garbage is
 * collected.
 */
const MAX_GROWTH_BYTES = 400 * MIB

const oneByteFrame = (byte: number): Buffer => webSocketFrame(Buffer.of(byte))

describe('the memory of incomplete packets', () => {
  it('incomplete packets take memory only for received bytes, even if they announce 16 MiB', async () => {
    const scene = await openScene({ maxBufferedBytes: 64 * MIB })
    await scene.runAttack(
      async () => {
        const head = Buffer.concat([Buffer.of(0x30), variable(16 * MIB - 5)])
        const attackers = await Promise.all(
          Array.from({ length: nightly(100, 30) }, async (_, n) => scene.connect(`attacker-${n}`)),
        )
        const body = randomBytes(8 * MIB)
        await Promise.all(attackers.map(async attacker => attacker.send(head, body)))
      },
      { maxGrowthBytes: MAX_GROWTH_BYTES, maxHeldBytes: 128 * MIB },
    )
    await scene.expectRecovered()
  })

  it('an incomplete packet takes no additional memory in WebSocket frames of one byte each', async () => {
    const scene = await openScene({ maxBufferedBytes: 64 * MIB })
    await scene.runAttack(async () => {
      const template = connect('x')
      const large = publish('t', Buffer.alloc(2 * MIB))
      const frames = Buffer.alloc(7 * 64 * 1024, oneByteFrame(0))
      await Promise.all(
        Array.from({ length: nightly(60, 20) }, async (_, n) => {
          const attacker = await scene.open(scene.store.addresses.wsUrl)
          await attacker.send(Buffer.from(UPGRADE))
          await attacker.hears()
          const connectPacket = Buffer.from(template)
          connectPacket[connectPacket.length - 1] = 65 + n
          for (const byte of [...connectPacket, ...large.subarray(0, 10)]) await attacker.send(oneByteFrame(byte))
          for (let sent = 0; sent < 12; sent++) await attacker.send(frames)
        }),
      )
    })
    await scene.expectRecovered()
  })

  it('an incomplete packet takes no additional memory in TCP segments of one byte each', async () => {
    const scene = await openScene({ maxBufferedBytes: 64 * MIB })
    await scene.runAttack(async () => {
      const head = publish('t', Buffer.alloc(MIB)).subarray(0, 10)
      await Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          const attacker = await scene.connect(`attacker-${n}`)
          await attacker.send(head)
          for (let sent = 0; sent < nightly(2_000, 500); sent++) {
            await attacker.send(Buffer.of(0))
            await new Promise(resolve => setImmediate(resolve))
          }
        }),
      )
    })
    await scene.expectRecovered()
  })
})
