import { type Observable, Subscription } from 'rxjs'
import { type GivenOptions, type OptionTable, text, texts, toggle } from '../core/util/options.js'
import { checkTls, type TlsMaterial } from '../node/net/tls.js'
import { parsePolicy } from '../server/access/policy.js'
import { SERVE_OPTIONS } from '../server/host/options.js'
import { isLocalOnly } from '../server/host/security.js'
import {
  type AuditEvent,
  firstOf,
  type LoginRequest,
  type Method,
  type SecurityOptions,
  type StoreServer,
} from '../server/index.js'
import { auditTarget, writeAuditLog } from './audit-log.js'
import type { EventLog } from './event-log.js'
import { EXIT, Failure } from './failure.js'
import type { Io } from './io.js'
import { type LoginMethods, loginMethods, named, read } from './login-methods.js'
import { type Reloads, reloadFiles } from './reloaded-files.js'

const file = text('<file>')

/** The options of `serve` for authentication, policy and TLS. */
export const SECURITY = {
  tlsCert: { kind: file, help: 'certificate chain, PEM; enables TLS for all listeners', isCommon: true },
  tlsKey: { kind: file, help: 'private key of the certificate, PEM', isCommon: true },
  tlsClientCa: { kind: file, help: 'accept client certificates of these authorities, PEM' },
  passwordFile: {
    kind: file,
    help: 'accept the users of this file (`rx-statestore passwd`)',
    isCommon: true,
  },
  jwks: { kind: text('<file or URL>'), help: 'accept tokens (JWT) signed with one of these keys' },
  audience: { kind: texts('<name...>', 'a list of names'), help: 'accepted audiences of tokens' },
  authentication: { kind: file, help: 'file with authenticationMethods of Azure IoT Operations' },
  policy: {
    kind: file,
    without: 'all allowed',
    help: 'authorizationPolicies of Azure IoT Operations',
    isCommon: true,
  },
  allowAnonymous: { kind: toggle, help: 'accept clients without credentials, also from other machines' },
  audit: { kind: auditTarget, without: 'stderr', help: 'write a JSON line for each login and rejection to a file' },
} satisfies OptionTable

export type SecurityFlags = GivenOptions<typeof SECURITY> & { readonly host?: string }

/** A further server that shares the certificate and the store's logins. */
interface Secured {
  readonly login: Method
  readonly audit$: Observable<AuditEvent>
  setTls(tls: TlsMaterial): void
}

export const SECURITY_GROUP = 'Access:'

/** The security options from flags and files. Reloads the files while the store runs. */
export class ServeSecurity {
  readonly options: SecurityOptions
  readonly #flags: SecurityFlags
  readonly #io: Io
  readonly #log: EventLog
  readonly #logins: LoginMethods
  readonly #subscription = new Subscription()
  #console: Secured | undefined

  /** Throws {@link Failure} if flags are contradictory or a file is invalid or unreadable. */
  constructor(flags: SecurityFlags, io: Io, log: EventLog) {
    this.#flags = flags
    this.#io = io
    this.#log = log
    const warn = (message: string): void => log.write('warn', 'security', `warning: ${message}`)
    this.#logins = loginMethods(flags, warn)
    const { methods } = this.#logins
    const { policy, allowAnonymous } = flags
    checkAnonymous(flags, methods.length > 0)
    const tls = this.#tls()
    this.options = {
      ...(methods.length > 0 && { authenticate: firstOf([this.#consoleLogin, ...methods]) }),
      ...(allowAnonymous && { allowAnonymous }),
      ...(policy !== undefined && { policy: policyText(policy) }),
      ...(tls !== undefined && { tls }),
      warn,
    }
  }

  /**
   * Starts the audit log, and reloads files when they change or on SIGHUP.
   *
   * @param others - further files to reload
   */
  watch(
    store: StoreServer,
    console: Secured | undefined,
    metrics: Omit<Secured, 'login'> | undefined,
    others: Reloads,
  ): void {
    this.#console = console
    const { audit } = this.#flags
    for (const audited of [store, console, metrics])
      if (audit !== undefined && audited !== undefined)
        this.#subscription.add(writeAuditLog(audited.audit$, audit, this.#io, this.#log))
    const reloads = new Map([...this.#reloads(store, [console, metrics]), ...others])
    this.#subscription.add(reloadFiles(reloads, this.#io, this.#log))
  }

  close(): void {
    this.#subscription.unsubscribe()
  }

  // The console's login is looked up each time, because the console starts after the store.
  readonly #consoleLogin: Method = Object.assign((request: LoginRequest) => this.#console?.login(request), {
    proofOf: (request: LoginRequest) => this.#console?.login.proofOf?.(request),
  })

  #reloads(store: StoreServer, others: readonly (Pick<Secured, 'setTls'> | undefined)[]): Reloads {
    const { policy, tlsCert, tlsKey } = this.#flags
    const reloads = new Map(this.#logins.reloads)
    if (policy !== undefined) reloads.set(policy, () => store.reload({ policy: read(policy) }))
    // Certificate and key do not match until both files have changed, so the reload succeeds after the second change.
    const setTls = (): void => {
      const tls = this.#tls()
      if (tls === undefined) return
      store.reload({ tls })
      for (const other of others) other?.setTls(tls)
    }
    for (const path of [tlsCert, tlsKey, this.#logins.clientCa]) if (path !== undefined) reloads.set(path, setTls)
    return reloads
  }

  #tls(): TlsMaterial | undefined {
    const { tlsCert, tlsKey } = this.#flags
    const { clientCa } = this.#logins
    if (tlsCert === undefined || tlsKey === undefined) {
      if (tlsCert ?? tlsKey ?? clientCa) throw new Failure(EXIT.usage, 'TLS requires both --tls-cert and --tls-key')
      return undefined
    }
    const tls = { cert: read(tlsCert), key: read(tlsKey), clientCa: clientCa && read(clientCa) }
    named(tlsCert, () => checkTls(tls))
    return tls
  }
}

function checkAnonymous(
  { host = SERVE_OPTIONS.host.default, allowAnonymous }: SecurityFlags,
  authenticates: boolean,
): void {
  if (authenticates || allowAnonymous || isLocalOnly(host)) return
  const ways = '--password-file, --tls-client-ca, --jwks or --authentication'
  throw new Failure(
    EXIT.usage,
    `anonymous clients on ${host} would have full access: add ${ways}, or --allow-anonymous if that is intended`,
  )
}

function policyText(path: string): string {
  const text = read(path)
  named(path, () => parsePolicy(text))
  return text
}
