import type { Subject } from 'rxjs'
import type { Client } from '../../core/mqtt5/peer.js'
import { systemClock } from '../../core/util/clock.js'
import { Audit } from '../../node/net/audit.js'
import { Guard } from '../access/guard.js'
import type { KeyRights } from '../engine/engine.js'
import type { ServeOptions } from './options.js'
import type { Fault } from './running-store.js'
import { policyOf } from './security.js'

/** Who is let in, and what is told of it. */
export interface Door {
  readonly audit: Audit
  /** Without one everybody may do everything. */
  readonly guard: Guard | undefined
}

/** The door that options ask for. */
export function doorOf(
  { authenticate, allowAnonymous, policy }: Required<ServeOptions>,
  faults$: Subject<Fault>,
): Door {
  const audit = new Audit(systemClock)
  if (authenticate === undefined && policy === undefined) return { audit, guard: undefined }
  const parsed = policy === undefined ? undefined : policyOf(policy)
  const failed = (error: unknown, clientId: string): void => faults$.next({ clientId, error })
  return {
    audit,
    guard: new Guard({ authenticate, allowAnonymous, policy: parsed, clock: systemClock, failed }, audit),
  }
}

/** What a policy lets connections do with keys; `undefined` without one. */
export const rightsOf = ({ guard }: Door): KeyRights<Client> | undefined => (guard?.judges ? guard : undefined)
