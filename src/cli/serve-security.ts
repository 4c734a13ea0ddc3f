import { unwatchFile, watchFile } from 'node:fs'
import type { Command } from 'commander'
import { type Observable, Subscription } from 'rxjs'
import { reason } from '../core/util/errors.js'
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
import { EXIT, Failure } from './failure.js'
import type { Io } from './io.js'
import { type LoginFlags, type LoginMethods, loginMethods, named, read } from './login-methods.js'
import { record } from './reports.js'

/** Flags of `serve` about who may do what. */
export interface SecurityFlags extends LoginFlags {
  readonly host?: string
  readonly policy?: string
  readonly allowAnonymous?: true
  readonly audit?: string | true
  readonly tlsCert?: string
  readonly tlsKey?: string
}

/** Somebody else who shows the certificate of the store. */
interface Secured {
  readonly login: Method
  readonly audit$: Observable<AuditEvent>
  setTls(tls: TlsMaterial): void
}

const GROUP = 'Who may do what:'
/** How often files are looked at, ms. */
const LOOK_INTERVAL = 1_000

/** Adds them. */
export function addSecurityFlags(command: Command): void {
  const add = (flags: string, description: string): void => {
    command.addOption(command.createOption(flags, description).helpGroup(GROUP))
  }
  add('--tls-cert <file>', 'certificate, PEM, with those up to the authority; all listeners speak TLS then')
  add('--tls-key <file>', 'its key, PEM')
  add('--tls-client-ca <file>', 'let in who has a certificate of these authorities, PEM')
  add('--password-file <file>', 'let in who has a password in this file, which `rx-statestore passwd` makes')
  add('--jwks <file or URL>', 'let in who has a token (JWT) signed with one of these keys')
  add('--audience <name...>', 'of which a token has to have one')
  add('--authentication <file>', 'all that, as the authenticationMethods of Azure IoT Operations')
  add('--policy <file>', 'who may do what, as its authorizationPolicies; default everything')
  add('--allow-anonymous', 'let in who shows nothing, from other machines, too')
  add('--audit [file]', 'a line of JSON for each login and refusal (stderr)')
}

/** What flags and files say, and how that changes while a store runs. */
export class ServeSecurity {
  readonly options: SecurityOptions
  readonly #flags: SecurityFlags
  readonly #io: Io
  readonly #logins: LoginMethods
  readonly #subscription = new Subscription()
  #console: Secured | undefined

  /** Throws {@link Failure} for what makes no sense and what cannot be read. */
  constructor(flags: SecurityFlags, io: Io) {
    this.#flags = flags
    this.#io = io
    this.#logins = loginMethods(flags)
    const { methods } = this.#logins
    const { policy, allowAnonymous } = flags
    checkAnonymous(flags, methods.length > 0)
    const tls = this.#tls()
    this.options = {
      ...(methods.length > 0 && { authenticate: firstOf([this.#consoleLogin, ...methods]) }),
      ...(allowAnonymous && { allowAnonymous }),
      ...(policy !== undefined && { policy: policyText(policy) }),
      ...(tls !== undefined && { tls }),
      warn: words => io.stderr.write(`warning: ${words}\n`),
    }
  }

  /** Keeps the record, and reads files again when they change, or at SIGHUP. */
  watch(store: StoreServer, console: Secured | undefined): void {
    this.#console = console
    const { audit } = this.#flags
    for (const { audit$ } of [store, ...(console ? [console] : [])])
      if (audit !== undefined) this.#subscription.add(record(audit$, audit, this.#io))
    const reloads = this.#reloads(store, console)
    if (reloads.size === 0) return
    this.#subscription.add(
      this.#io.hangUp$.subscribe(() => {
        for (const [path, reload] of reloads) this.#reload(path, reload)
      }),
    )
    for (const [path, reload] of reloads) {
      const changed = (): void => this.#reload(path, reload)
      watchFile(path, { interval: LOOK_INTERVAL, persistent: false }, changed)
      this.#subscription.add(() => unwatchFile(path, changed))
    }
  }

  /** Looks at files no more. */
  close(): void {
    this.#subscription.unsubscribe()
  }

  // The console starts after the store.
  readonly #consoleLogin: Method = Object.assign((request: LoginRequest) => this.#console?.login(request), {
    proofOf: (request: LoginRequest) => this.#console?.login.proofOf?.(request),
  })

  #reloads(store: StoreServer, console: Secured | undefined): ReadonlyMap<string, () => void> {
    const { policy, tlsCert, tlsKey } = this.#flags
    const reloads = new Map(this.#logins.reloads)
    if (policy !== undefined) reloads.set(policy, () => store.reload({ policy: read(policy) }))
    // Certificate and key change one after the other: halfway they do not fit, and the second change helps.
    const setTls = (): void => {
      const tls = this.#tls()
      if (tls === undefined) return
      store.reload({ tls })
      console?.setTls(tls)
    }
    for (const path of [tlsCert, tlsKey, this.#logins.clientCa]) if (path !== undefined) reloads.set(path, setTls)
    return reloads
  }

  #tls(): TlsMaterial | undefined {
    const { tlsCert, tlsKey } = this.#flags
    const { clientCa } = this.#logins
    if (tlsCert === undefined || tlsKey === undefined) {
      if (tlsCert ?? tlsKey ?? clientCa) throw new Failure(EXIT.usage, 'TLS needs both --tls-cert and --tls-key')
      return undefined
    }
    const tls = { cert: read(tlsCert), key: read(tlsKey), clientCa: clientCa && read(clientCa) }
    named(tlsCert, () => checkTls(tls))
    return tls
  }

  #reload(path: string, reload: () => void): void {
    try {
      named(path, reload)
      this.#io.stderr.write(`read ${path} again\n`)
    } catch (error) {
      this.#io.stderr.write(`${reason(error)}; what was there before stays in force\n`)
    }
  }
}

function checkAnonymous({ host = SERVE_OPTIONS.host.default, allowAnonymous }: SecurityFlags, asks: boolean): void {
  if (asks || allowAnonymous || isLocalOnly(host)) return
  const ways = '--password-file, --tls-client-ca, --jwks or --authentication'
  throw new Failure(
    EXIT.usage,
    `everybody who reaches ${host} could read and write every key: add ${ways}, or --allow-anonymous if that is meant`,
  )
}

function policyText(path: string): string {
  const text = read(path)
  named(path, () => parsePolicy(text))
  return text
}
