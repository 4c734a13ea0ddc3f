import { openAttached } from '../support/open-attached.js'
import type { Target, TargetOptions } from './conformance-suite.js'
import { targetAt } from './target-at.js'

/** Opens a new attached store at a broker that earlier specs have used. */
export async function attachedTarget(url: string, { clock, clients, bounds }: TargetOptions): Promise<Target> {
  await openAttached(url, { clock, ...bounds })
  return targetAt(url, clock, clients)
}
