import { describe, expect, it, onTestFinished } from 'vitest'
import { settingsFrom } from '../../../src/server/attach/options.js'
import { StorageManager } from '../../../src/server/attach/storage-manager.js'
import type { StorageStatus } from '../../../src/server/index.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

async function openManager() {
  const states: StorageStatus['state'][] = []
  const unexpected = (error?: unknown): never => {
    throw error
  }
  const manager = new StorageManager(settingsFrom({ data: temporaryFolder() }), undefined, {
    clients: () => 0,
    onStatus: ({ state }) => void states.push(state),
    onOutdated: unexpected,
    onFailed: unexpected,
    onFault: unexpected,
  })
  await manager.open()
  onTestFinished(async () => manager.release())
  return { manager, states }
}

describe('The storage of an attached store', () => {
  it.each(['full', 'broken'] as const)(
    'a store that has released its %s directory reports no problem with it',
    async state => {
      const { manager, states } = await openManager()
      manager.setStatus({ state, error: new Error('for the test') })
      await manager.release()
      expect(states).toEqual([state, 'kept'])
      expect(manager.opened).toBeUndefined()
    },
  )

  it('a store that releases a directory without a problem reports nothing', async () => {
    const { manager, states } = await openManager()
    await manager.release()
    expect(states).toEqual([])
  })
})
