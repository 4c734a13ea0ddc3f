import type { Subject } from 'rxjs'
import { checkFunction } from '../../core/util/check.js'
import { systemClock } from '../../core/util/clock.js'
import { ArgumentError } from '../../core/util/errors.js'
import { isLoopback } from '../../core/util/host-name.js'
import type { Checked } from '../../core/util/options.js'
import { warnAnonymous, warnProcess } from '../../node/net/anonymous-warning.js'
import { Audit } from '../../node/net/audit.js'
import { checkTls, type TlsMaterial } from '../../node/net/tls.js'
import { Authorizer } from '../access/authorizer.js'
import type { Authenticate } from '../access/login.js'
import { parsePolicy } from '../access/policy.js'
import type { Fault } from './store-server.js'

/** Options of `serve` about who may do what. */
export interface SecurityOptions {
  /**
   * Finds out who a client is; see {@link Authenticate}, and `firstOf`, `Passwords`, `certificates` and `Tokens`, of which
   * one can be made. Default: no client is asked.
   */
  readonly authenticate?: Authenticate | undefined
  /**
   * Whether clients may come in that show nothing of themselves. Default only if no client is asked, and only at the
   * loopback address.
   */
  readonly allowAnonymous?: boolean | undefined
  /**
   * Who may do what: YAML, as the `authorizationPolicies` of Azure IoT Operations. What no rule grants is refused. Default:
   * a client that is let in may do everything.
   */
  readonly policy?: string | undefined
  /** Listens with TLS 1.2 or later. Default: without. */
  readonly tls?: TlsMaterial | undefined
  /**
   * Hears in a sentence what the operator of a store should know: that `allowAnonymous` lets strangers in. Default a
   * warning of the process (`process.emitWarning`, code `RX_STATESTORE_ANONYMOUS`).
   */
  readonly warn?: ((words: string) => void) | undefined
}

/** Checked {@link SecurityOptions}. */
export type CheckedSecurity = Checked<SecurityOptions, 'authenticate' | 'policy' | 'tls'>

/** Options with their defaults. Throws {@link ArgumentError}. */
export function checkSecurity(options: SecurityOptions, host: string): CheckedSecurity {
  const { authenticate, policy, tls, warn = warnProcess } = options
  checkFunction('warn', warn)
  if (authenticate !== undefined) checkFunction('authenticate', authenticate)
  const { allowAnonymous = authenticate === undefined && isLocalOnly(host) } = options
  if (authenticate === undefined && !allowAnonymous) {
    throw new ArgumentError(
      `Everybody who reaches ${host} could read and write every key: give \`authenticate\`, or \`allowAnonymous: true\``,
    )
  }
  if (policy !== undefined) parsePolicyOption(policy)
  if (tls !== undefined) checkTls(tls)
  return { authenticate, allowAnonymous, policy, tls, warn }
}

/** Tells that strangers may come in who show nothing of themselves, if they may. */
export function warnIfAnonymous({ authenticate, allowAnonymous, warn, host }: WarningOptions): void {
  // With `authenticate` there may be a proxy on this machine that others reach.
  if (allowAnonymous && (authenticate !== undefined || !isLocalOnly(host))) warnAnonymous(host, warn ?? warnProcess)
}

interface WarningOptions extends Pick<SecurityOptions, 'authenticate' | 'allowAnonymous' | 'warn'> {
  readonly host: string
}

/** Reads the option `policy`. Throws {@link ArgumentError}. */
export function parsePolicyOption(text: string): ReturnType<typeof parsePolicy> {
  if (typeof text !== 'string') throw new ArgumentError('Expected `policy` to be a text of YAML')
  try {
    return parsePolicy(text)
  } catch (cause) {
    throw cause instanceof ArgumentError ? new ArgumentError(`The policy: ${cause.message}`, { cause }) : cause
  }
}

/** Throws {@link ArgumentError} unless a certificate may take the place of the one before. */
export function checkTlsReplacement(current: TlsMaterial | undefined, tls: TlsMaterial): void {
  if (current === undefined || (current.clientCa === undefined) !== (tls.clientCa === undefined))
    throw new ArgumentError('TLS, and whether clients are asked for a certificate, is decided when the store starts')
  checkTls(tls)
}

/** Whether what listens there can be reached from this machine alone. */
export const isLocalOnly = (host: string): boolean => host === '::1' || isLoopback(host.toLowerCase())

/** Who may do what, and the audit log of it. */
export interface AccessControl {
  readonly audit: Audit
  /** Without one everybody may do everything. */
  readonly authorizer: Authorizer | undefined
}

/** The access control that options ask for. */
export function createAccessControl(
  { authenticate, allowAnonymous, policy }: CheckedSecurity,
  faults$: Subject<Fault>,
): AccessControl {
  const audit = new Audit(systemClock)
  if (authenticate === undefined && policy === undefined) return { audit, authorizer: undefined }
  const parsed = policy === undefined ? undefined : parsePolicyOption(policy)
  const failed = (error: unknown, clientId: string): void => faults$.next({ clientId, error })
  return {
    audit,
    authorizer: new Authorizer(
      { authenticate, allowAnonymous, policy: parsed, clock: systemClock, onAuthenticateError: failed },
      audit,
    ),
  }
}

/** What a policy lets connections do with keys and topics; `undefined` without one. */
export const rightsOf = ({ authorizer }: AccessControl): Authorizer | undefined =>
  authorizer?.hasPolicy ? authorizer : undefined
