import { describe, expect, it } from 'vitest'
import { bridge } from '../../../../src/pubsub/bridge/index.js'
import { openBridge } from '../../../pubsub/bridge/support/open-bridge.js'
import type { RawFrame } from '../../../pubsub/support/raw-pubsub-client.js'

const resultOf = ({ success, error }: RawFrame): string => (success === true ? 'done' : Object(error).name)
const PERMISSIVE = { read: () => true }
const RESTRICTIVE = { prefix: 'key:admin:', read: () => false }

describe('two guards for the same groups of a hub', () => {
  it('bridges with overlapping prefixes are rejected, as one may permit what the other denies', async () => {
    const { hub, bridged: client } = await openBridge(PERMISSIVE)
    for (const prefix of ['key:admin:', 'key:', 'k'])
      expect(() => bridge(client, hub, { ...RESTRICTIVE, prefix })).toThrow(
        expect.objectContaining({ code: 'argument', message: expect.stringContaining('overlap') }),
      )
    expect(() => bridge(client, hub, { ...RESTRICTIVE, prefix: 'key2:' }).close()).not.toThrow()
  })

  it('a bridge can replace a closed bridge with the same prefix', async () => {
    const { hub, bridged: client, keys, raw } = await openBridge(PERMISSIVE)
    keys.close()
    bridge(client, hub, RESTRICTIVE)
    const mallory = await raw('mallory')
    expect(resultOf(await mallory.request({ type: 'joinGroup', group: 'key:admin:secret' }))).toBe('Forbidden')
  })

  it('a denial by a bridge or by a guard of the application wins', async () => {
    for (const isLate of [true, false]) {
      const { hub, bridged: client, keys, raw } = await openBridge(PERMISSIVE)
      keys.close()
      const guard = (): void => {
        hub.guard((_connection, _action, group) => (group.startsWith('key:admin:') ? false : undefined))
      }
      if (!isLate) guard()
      bridge(client, hub, PERMISSIVE)
      if (isLate) guard()
      const [mallory, innocent] = [await raw('mallory'), await raw('innocent')]
      expect(resultOf(await mallory.request({ type: 'joinGroup', group: 'key:admin:secret' }))).toBe('Forbidden')
      expect(resultOf(await innocent.request({ type: 'joinGroup', group: 'key:public' }))).toBe('done')
    }
  })
})
