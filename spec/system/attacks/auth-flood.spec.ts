import { describe, expect, it } from 'vitest'
import { as } from '../../support/backwards.js'
import { nightly } from '../../support/effort.js'
import { auth, connect, PROPERTY, properties } from '../../support/packets.js'
import type { RawSocket } from '../../support/raw-socket.js'
import { SOME_RIGHTS } from './support/policies.js'
import { openScene, prepareScenes, type Scene } from './support/scene.js'

prepareScenes()

const METHOD = 'backwards'
const [CONNACK, DISCONNECT, AUTH] = [0x20, 0xe0, 0xf0]
const [ACCEPTED, PROTOCOL_ERROR] = [0, 0x82]
const BATCH_SIZE = 20_000

/** The test authenticator accepts any password, so the data may be arbitrary. */
const REAUTHENTICATION = auth(METHOD, 'x')
const byMethod = properties(PROPERTY.authenticationMethod(METHOD))
const connectPacket = (id: string): Buffer => connect(id, { ...as('mallory'), properties: byMethod })
const repeated = (packet: Buffer, count: number): Buffer => Buffer.alloc(count * packet.length, packet)

async function connectAuthenticated(scene: Scene, id: string): Promise<RawSocket> {
  const attacker = await scene.connect(connectPacket(id))
  expect([attacker.last[0], attacker.last[3]]).toEqual([CONNACK, ACCEPTED])
  return attacker
}

/** Returns the type and the reason code of the packet at an offset. The packet must be shorter than 128 bytes. */
const codeOf = (bytes: Buffer, at = 0): readonly unknown[] => {
  const type = bytes[at]
  return [type, bytes[at + (type === CONNACK ? 3 : 2)]]
}

/** Returns the type and the reason code of the last packet before the connection ended. */
async function lastPacketOf(attacker: RawSocket): Promise<readonly unknown[]> {
  await attacker.closed
  // The last chunk may begin in the middle of a packet.
  const bytes = await attacker.first()
  let [at, next] = [0, 0]
  while (next < bytes.length) {
    at = next
    next += 2 + (bytes[at + 1] ?? 0)
  }
  return codeOf(bytes, at)
}

const ATTACKS: Readonly<Record<string, (scene: Scene, id: string) => Promise<void>>> = {
  'of an authenticated client in one batch': async (scene, id) => {
    const attacker = await connectAuthenticated(scene, id)
    await attacker.send(repeated(REAUTHENTICATION, BATCH_SIZE))
    expect(await lastPacketOf(attacker)).toEqual([DISCONNECT, PROTOCOL_ERROR])
  },
  'of sequential packets at full speed': async (scene, id) => {
    const attacker = await connectAuthenticated(scene, id)
    for (let n = 0; n < nightly(2_000, 500); n++) {
      await Promise.all([attacker.hears(), attacker.send(REAUTHENTICATION)])
      expect(codeOf(attacker.last)).toEqual([AUTH, 0])
    }
  },
  'directly after CONNECT': async (scene, id) => {
    const attacker = await scene.open()
    await attacker.send(connectPacket(id), repeated(REAUTHENTICATION, BATCH_SIZE))
    expect(await lastPacketOf(attacker)).toEqual([DISCONNECT, PROTOCOL_ERROR])
  },
  'without CONNECT': async (scene, id) => {
    for (let n = 0; n < 50; n++) {
      const attacker = await scene.open()
      await attacker.send(repeated(n % 2 === 0 ? REAUTHENTICATION : auth(METHOD, id, 0x18), 100))
      await attacker.closed
      expect(attacker.received).toBe(0)
    }
  },
}

describe('a flood of AUTH packets', () => {
  it.each(Object.entries(ATTACKS))('%s does not delay other clients', async (_, attack) => {
    const scene = await openScene({ policy: SOME_RIGHTS })
    await scene.runAttack(
      async () => {
        await Promise.all(Array.from({ length: 8 }, async (_, n) => attack(scene, `flood-${n}`)))
        const innocent = await scene.connect(connect('another', as('innocent')))
        expect(codeOf(innocent.last)).toEqual([CONNACK, ACCEPTED])
      },
      { mustComplete: true },
    )
  })
})
