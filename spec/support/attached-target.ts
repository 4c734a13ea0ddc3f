import type { Target, TargetOptions } from '../suites/conformance-suite.js'
import { openAttached } from './open-attached.js'
import { targetAt } from './target-at.js'

/** A store of its own at a broker that others have used before. */
export async function attachedTarget(url: string, { clock, clients, bounds }: TargetOptions): Promise<Target> {
  await openAttached(url, { clock, ...bounds })
  return targetAt(url, clock, clients)
}
