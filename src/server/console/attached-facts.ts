import { rootCause } from '../../core/util/root-cause.js'
import type { AttachedState } from '../attach/attached-store.js'
import type { AttachedFacts } from './contract.js'

/** What an attached store does at its broker, for people. */
export function attachedFacts(now: AttachedState): AttachedFacts {
  const { state } = now
  if (state === 'serving' || state === 'standby') return { state }
  if (state === 'connecting') return { state, why: 'The store is on its way to its broker' }
  if (state === 'reconnecting') return { state, why: `The store cannot reach its broker: ${rootCause(now.cause)}` }
  return { state, why: now.cause ? `The store has stopped: ${rootCause(now.cause)}` : 'The store has stopped' }
}
