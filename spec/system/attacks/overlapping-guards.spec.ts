import { describe, expect, it } from 'vitest'
import { bridge } from '../../../src/pubsub/bridge/index.js'
import { openBridge } from '../../pubsub/bridge/support/open-bridge.js'
import type { RawFrame } from '../../pubsub/support/raw-pubsub-client.js'

const nameOf = ({ success, error }: RawFrame): string => (success === true ? 'done' : Object(error).name)
const OPEN = { read: () => true }
const CLOSED = { prefix: 'key:admin:', read: () => false }

describe('two that decide about the same groups of a hub', () => {
  it('cannot be two bridges, in either order, as one would open what the other closes', async () => {
    const { hub, bridged } = await openBridge(OPEN)
    for (const prefix of ['key:admin:', 'key:', 'k'])
      expect(() => bridge(bridged, hub, { ...CLOSED, prefix })).toThrow(
        expect.objectContaining({ code: 'argument', message: expect.stringContaining('overlap') }),
      )
    expect(() => bridge(bridged, hub, { ...CLOSED, prefix: 'key2:' }).close()).not.toThrow()
  })

  it('can be a bridge that replaces a closed one', async () => {
    const { hub, bridged, keys, raw } = await openBridge(OPEN)
    keys.close()
    bridge(bridged, hub, CLOSED)
    const mallory = await raw('mallory')
    expect(nameOf(await mallory.request({ type: 'joinGroup', group: 'key:admin:secret' }))).toBe('Forbidden')
  })

  it('are a bridge and a guard of the application, of which the one that refuses wins', async () => {
    for (const isLate of [true, false]) {
      const { hub, bridged, keys, raw } = await openBridge(OPEN)
      keys.close()
      const guard = (): void => {
        hub.guard((_connection, _action, group) => (group.startsWith('key:admin:') ? false : undefined))
      }
      if (!isLate) guard()
      bridge(bridged, hub, OPEN)
      if (isLate) guard()
      const [mallory, innocent] = [await raw('mallory'), await raw('innocent')]
      expect(nameOf(await mallory.request({ type: 'joinGroup', group: 'key:admin:secret' }))).toBe('Forbidden')
      expect(nameOf(await innocent.request({ type: 'joinGroup', group: 'key:public' }))).toBe('done')
    }
  })
})
