import type { Subject } from 'rxjs'
import { checkFunction } from '../../core/util/check.js'
import { systemClock } from '../../core/util/clock.js'
import { ArgumentError } from '../../core/util/errors.js'
import { isLoopback } from '../../core/util/host-name.js'
import type { Checked } from '../../core/util/options.js'
import { Audit } from '../../node/net/audit.js'
import { type Warn, warnAnonymous, warnProcess } from '../../node/net/security-warning.js'
import { checkTls, type TlsMaterial, validityOf } from '../../node/net/tls.js'
import { Authorizer } from '../access/authorizer.js'
import type { Authenticate } from '../access/login.js'
import { parsePolicy } from '../access/policy.js'
import type { Fault } from './store-server.js'

/** The options of {@link serve} for authentication and authorization. */
export interface SecurityOptions {
  /**
   * Authenticates clients. See {@link Authenticate}. Combine `Passwords`, `certificates` and `Tokens` with `firstOf`.
   * Default: clients are not authenticated.
   */
  readonly authenticate?: Authenticate | undefined
  /**
   * Whether clients without credentials may connect. By default, they may connect only without `authenticate`, and only
   * on the loopback address.
   */
  readonly allowAnonymous?: boolean | undefined
  /**
   * The access rules as YAML, in the format of the `authorizationPolicies` of Azure IoT Operations. Any action that no
   * rule grants is denied. Default: connected clients may do everything.
   */
  readonly policy?: string | undefined
  /** The certificate and key for TLS 1.2 or later. Default: no TLS. */
  readonly tls?: TlsMaterial | undefined
  /**
   * Called with a warning when `allowAnonymous` lets other machines connect without credentials, when other machines log
   * in without `tls`, and when the certificate is outside of its validity. Default: a process warning
   * (`process.emitWarning`, code `RX_STATESTORE_SECURITY`). If `warn` throws, `serve` rejects with this error and starts
   * no store, and `reload` throws it and changes nothing.
   */
  readonly warn?: ((words: string) => void) | undefined
}

export type CheckedSecurity = Checked<SecurityOptions, 'authenticate' | 'policy' | 'tls'>

export function checkSecurity(options: SecurityOptions, host: string): CheckedSecurity {
  const { authenticate, policy, tls, warn = warnProcess } = options
  checkFunction('warn', warn)
  if (authenticate !== undefined) checkFunction('authenticate', authenticate)
  const { allowAnonymous = authenticate === undefined && isLocalOnly(host) } = options
  if (authenticate === undefined && !allowAnonymous) {
    throw new ArgumentError(
      `Any client that reaches ${host} could read and write every key: set \`authenticate\`, or \`allowAnonymous: true\` to allow that`,
    )
  }
  if (policy !== undefined) parsePolicyOption(policy)
  if (tls !== undefined) checkTls(tls)
  return { authenticate, allowAnonymous, policy, tls, warn }
}

/** Warns about anonymous clients, logins without encryption, and a certificate outside of its validity. */
export function warnIfInsecure({ authenticate, allowAnonymous, tls, warn, host }: InsecureOptions): void {
  // With `authenticate`, even a loopback address may be reachable through a proxy on this machine.
  if (allowAnonymous && (authenticate !== undefined || !isLocalOnly(host))) warnAnonymous(host, warn)
  if (tls !== undefined) warnIfInvalid(tls, warn)
  else if (authenticate !== undefined && !isLocalOnly(host))
    warn(`clients on ${host} send passwords and tokens without encryption: set up TLS, unless the network is trusted`)
}

type InsecureOptions = CheckedSecurity & { readonly host: string }

/** Warns about a certificate outside of its validity. */
export function warnIfInvalid({ cert }: TlsMaterial, warn: Warn): void {
  const { notBefore, notAfter } = validityOf(cert)
  // Not an injected clock: clients check the certificate by the real time, whatever time the store keeps.
  const now = systemClock.now()
  if (now > notAfter) warn(`the TLS certificate expired at ${formatTime(notAfter)}`)
  else if (now < notBefore) warn(`the TLS certificate is not valid before ${formatTime(notBefore)}`)
}

const formatTime = (ms: number): string => new Date(ms).toISOString()

export function parsePolicyOption(text: string): ReturnType<typeof parsePolicy> {
  if (typeof text !== 'string') throw new ArgumentError('Expected `policy` to be a string of YAML')
  try {
    return parsePolicy(text)
  } catch (cause) {
    throw cause instanceof ArgumentError ? new ArgumentError(`The policy: ${cause.message}`, { cause }) : cause
  }
}

/** Throws {@link ArgumentError} if the new TLS material cannot replace the current one. */
export function checkTlsReplacement(current: TlsMaterial | undefined, tls: TlsMaterial): void {
  if (current === undefined || (current.clientCa === undefined) !== (tls.clientCa === undefined))
    throw new ArgumentError(
      'TLS and client certificates can only be turned on or off at the start; restart the store to change that',
    )
  checkTls(tls)
}

export const isLocalOnly = (host: string): boolean => host === '::1' || isLoopback(host.toLowerCase())

export interface AccessControl {
  readonly audit: Audit
  readonly authorizer: Authorizer | undefined
}

export function createAccessControl(
  { authenticate, allowAnonymous, policy }: CheckedSecurity,
  faults$: Subject<Fault>,
): AccessControl {
  // `serve` has no option for a clock, because credentials and audit records have the real time. Tests pass a clock to
  // the classes below.
  const audit = new Audit(systemClock)
  if (authenticate === undefined && policy === undefined) return { audit, authorizer: undefined }
  const parsed = policy === undefined ? undefined : parsePolicyOption(policy)
  const reportError = (error: unknown, clientId: string): void => faults$.next({ clientId, error })
  return {
    audit,
    authorizer: new Authorizer(
      { authenticate, allowAnonymous, policy: parsed, clock: systemClock, onAuthenticateError: reportError },
      audit,
    ),
  }
}

export const rightsOf = ({ authorizer }: AccessControl): Authorizer | undefined =>
  authorizer?.hasPolicy ? authorizer : undefined
