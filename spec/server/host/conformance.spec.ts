import type { Dialect } from '../../../src/core/protocol/replies.js'
import { conformanceSuite, type Target, type TargetOptions } from '../../suites/conformance-suite.js'
import { targetAt } from '../../suites/target-at.js'
import { some } from '../../support/effort.js'
import { openStore } from '../../support/open-store.js'

async function runningStore(
  transport: 'url' | 'wsUrl',
  dialect: Dialect,
  { clock, clients, bounds }: TargetOptions,
): Promise<Target> {
  const { store } = await openStore({ clock, dialect, ...bounds })
  return targetAt(store[transport], clock, clients)
}

const RUNS = [
  ['TCP', 'url', 'field'],
  ['WebSocket', 'wsUrl', 'documented'],
  ['TCP', 'url', 'documented'],
  ['WebSocket', 'wsUrl', 'field'],
] as const

for (const [transport, url, dialect] of some(RUNS, 1)) {
  conformanceSuite(`A running store over ${transport}, ${dialect} dialect`, dialect, async options =>
    runningStore(url, dialect, options),
  )
}
