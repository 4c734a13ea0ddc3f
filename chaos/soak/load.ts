import { type ConnectOptions, connect, type StateStore, StateStoreError, text } from 'rx-statestore'
import { lease } from 'rx-statestore/lease'
import { matching } from 'rx-statestore/matching'
import { firstValueFrom, type Observable, type Subscription, take } from 'rxjs'
import type { Violations } from '../../harness/judges/violations.js'
import { Link } from '../../harness/link.js'
import type { Random } from '../../harness/random.js'
import { endsWithin, until } from '../random-interval.js'
import type { Run } from '../run.js'
import type { Tally } from '../tally.js'
import { quantile } from '../trend.js'
import type { Address, StoreUnderTest } from './stores.js'

const CLIENTS = 6
const KEYS = 400
/** The intervals in ms between requests of all clients, changes of a watch, and requests or releases of a lease. */
const REQUEST_EVERY = 12
const WATCH_EVERY = 150
const LEASE_EVERY = 1_000
/** The intervals in ms between new clients that stay only for a moment, and restarts of a client. */
const VISITOR_EVERY = 250
const RESTART_EVERY = 10_000
/** The slow reader watches a large value, so that its messages fill the sockets and then queues of the store. */
const LARGE_EVERY = 125
const LARGE_BYTES = 48 * 1024
const STALL_EVERY = 30_000
const STALL_MS = 20_000
const MAX_VISITORS = 20
/** The writes that fill both generations of the store's cache of replies, which has 4 MiB each. */
const WARM_UP_WRITES = 250_000
const WARM_UP_IN_FLIGHT = 200
const CLOSE_TIMEOUT_MS = 10_000

/** A client that stays, with its watches and the lease that it holds or requests. */
interface Member {
  readonly store: StateStore
  readonly watches: Subscription[]
  lease: Subscription | undefined
}

/** Constant load of a store: requests, watches, globs, leases, clients that come and leave, and a slow reader. */
export class Load {
  #store
  #random: Random
  #tally: Tally
  #violations: Violations
  #members: Member[] = []
  #slowReader: StateStore | undefined
  #links: Link[] = []
  #timers: NodeJS.Timeout[] = []
  #latencies: number[] = []
  /** The number of pauses for samples. A request that a pause interrupts has no latency. */
  #pauses = 0
  #visitors = 0
  #isStopping = false

  constructor(store: StoreUnderTest, { random, tally, violations }: Run) {
    this.#store = store
    this.#random = random
    this.#tally = tally
    this.#violations = violations
  }

  async start(): Promise<void> {
    for (let at = 0; at < CLIENTS; at++) this.#members.push(this.#open(at))
    await this.#startSlowReader()
    const visitorLinks = await Promise.all(this.#store.addresses.map(async address => this.#linkTo(address)))
    this.#repeat(REQUEST_EVERY, () => this.#request())
    this.#repeat(WATCH_EVERY, () => this.#changeWatch(this.#random.pick(this.#members)))
    this.#repeat(LEASE_EVERY, () => this.#toggleLease(this.#random.pick(this.#members)))
    this.#repeat(VISITOR_EVERY, () => this.#visit(visitorLinks))
    this.#repeat(RESTART_EVERY, () => this.#restart(this.#random.int(0, CLIENTS - 1)))
    this.#repeat(LARGE_EVERY, () => this.#writeLarge())
  }

  /** Fills the store's cache of replies. Otherwise its growth, which is bounded, would look like a leak for an hour. */
  async fillReplyCache(): Promise<void> {
    const store = this.#connect(this.#store.addresses[0]?.url ?? '', { clientId: 'warm-up' })
    const key = store.key('warm-up', text)
    let written = 0
    const writeMany = async (): Promise<void> => {
      while (written++ < WARM_UP_WRITES) await key.set('w')
    }
    await Promise.all(Array.from({ length: WARM_UP_IN_FLIGHT }, writeMany))
    await this.#close(store)
  }

  /** Runs an action that stops this process for a moment, such as garbage collection. */
  async pauseFor<T>(action: () => Promise<T>): Promise<T> {
    this.#pauses++
    try {
      return await action()
    } finally {
      this.#pauses++
    }
  }

  /** Returns the latency in ms that 99 of 100 requests since the last call did not exceed. */
  takeP99(): number {
    const p99 = quantile(this.#latencies, 0.99)
    this.#latencies = []
    return p99
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    for (const timer of this.#timers) clearInterval(timer)
    await until(CLOSE_TIMEOUT_MS, () => this.#visitors === 0)
    for (const { store, watches, lease: held } of this.#members) {
      for (const each of [...watches, held]) each?.unsubscribe()
      await this.#close(store)
    }
    if (this.#slowReader) await this.#close(this.#slowReader)
    for (const link of this.#links) await link.close()
  }

  #repeat(intervalMs: number, action: () => void): void {
    this.#timers.push(setInterval(action, intervalMs))
  }

  #connect(url: string, options: ConnectOptions): StateStore {
    const client = connect(url, { ca: this.#store.ca, timeout: 10_000, ...options })
    client.errors$.subscribe(error => this.#complain('reported error', error))
    return client
  }

  #open(at: number): Member {
    const { url = '' } = this.#store.addresses[at % this.#store.addresses.length] ?? {}
    const store = this.#connect(url, { clientId: `member-${at}` })
    const watches = Array.from({ length: 20 }, (_, i) => this.#count(store.key(keyOf(20 * at + i), text).entries$))
    watches.push(this.#count(matching(store, `soak/${at}*`, text).entries$))
    return { store, watches, lease: undefined }
  }

  #count(values$: Observable<unknown>): Subscription {
    return values$.subscribe({
      next: () => this.#tally.add('notifications'),
      error: error => this.#complain('watch', error),
    })
  }

  #request(): void {
    const { store } = this.#random.pick(this.#members)
    const key = store.key(keyOf(this.#random.int(0, KEYS - 1)), text)
    const dice = this.#random.next()
    const value = 'v'.repeat(this.#random.int(20, 200))
    if (dice < 0.4) this.#measure(key.get())
    else if (dice < 0.8) this.#measure(key.set(value))
    else if (dice < 0.9) this.#measure(key.set(value, { expiresIn: 2_000 }))
    else this.#measure(key.delete())
  }

  #measure(response$: Observable<unknown>): void {
    const [start, pauses] = [performance.now(), this.#pauses]
    response$.subscribe({
      next: () => {
        this.#tally.add('requests')
        if (this.#pauses === pauses) this.#latencies.push(performance.now() - start)
      },
      error: error => this.#complain('request', error),
    })
  }

  /** Replaces the oldest watch of a key by another. */
  #changeWatch({ store, watches }: Member): void {
    watches.shift()?.unsubscribe()
    const isGlob = this.#random.chance(0.1)
    const at = this.#random.int(0, KEYS - 1)
    const entries$ = isGlob ? matching(store, `soak/${at % 40}*`, text).entries$ : store.key(keyOf(at), text).entries$
    watches.push(this.#count(entries$))
  }

  #toggleLease(member: Member): void {
    if (member.lease) {
      member.lease.unsubscribe()
      member.lease = undefined
      return
    }
    member.lease = lease(member.store, 'lock/soak', { duration: 3_000 }).subscribe({
      next: ({ status }) => {
        if (status === 'held') this.#tally.add('leases')
      },
      error: error => this.#complain('lease', error),
    })
  }

  /** Opens a client that writes, reads, watches and then closes, or whose connection is cut. */
  async #visit(links: readonly { url: string; link: Link }[]): Promise<void> {
    if (this.#visitors >= MAX_VISITORS) return
    this.#visitors++
    const number = this.#tally.of('visitors')
    this.#tally.add('visitors')
    const { url, link } = links[number % links.length] ?? { url: '', link: undefined }
    const isCut = number % 16 === 15
    // The store keeps the session of a cut connection for this time.
    const store = this.#connect(url, { clientId: `visitor-${number}`, sessionExpiry: 2_000 })
    const [mine, watched] = [store.key(`visitor/${number % 50}`, text), store.key(keyOf(number % KEYS), text)]
    const glob = matching(store, `soak/${number % 10}?`, text)
    try {
      await mine.set(String(number), { expiresIn: 5_000 })
      await Promise.all([
        mine.get(),
        firstValueFrom(watched.entries$.pipe(take(1))),
        firstValueFrom(glob.map$.pipe(take(1))),
      ])
      if (isCut) this.#tally.add('cuts', link?.closeConnections(true) ?? 0)
    } catch (error) {
      if (!isCutError(error)) this.#complain('visitor', error)
    } finally {
      await this.#close(store)
      this.#visitors--
    }
  }

  async #restart(at: number): Promise<void> {
    const member = this.#members[at]
    if (member === undefined || this.#isStopping) return
    this.#tally.add('restarts')
    this.#members[at] = this.#open(at)
    // The new connection takes over the session of the previous one.
    member.lease?.unsubscribe()
    for (const watch of member.watches) watch.unsubscribe()
    await this.#close(member.store)
  }

  #writeLarge(): void {
    this.#measure(this.#random.pick(this.#members).store.key('large', text).set('l'.repeat(LARGE_BYTES)))
  }

  /** Starts a client that reads a large value, and does not read for most of the time. */
  async #startSlowReader(): Promise<void> {
    const [address] = this.#store.addresses
    if (address === undefined) return
    const { url, link } = await this.#linkTo(address)
    const store = this.#connect(url, { clientId: 'slow-reader' })
    this.#slowReader = store
    this.#count(store.key('large', text).entries$)
    this.#repeat(STALL_EVERY, () => {
      this.#tally.add('stalls')
      link.stall('down')
      this.#timers.push(setTimeout(() => link.resume(), STALL_MS))
    })
  }

  async #linkTo({ url, port }: Address): Promise<{ url: string; link: Link }> {
    const link = new Link(port)
    this.#links.push(link)
    return { url: url.replace(String(port), String(await link.listen())), link }
  }

  async #close(store: StateStore): Promise<void> {
    if (!(await endsWithin(CLOSE_TIMEOUT_MS, store.close()))) this.#violations.add('close', 'close() does not complete')
  }

  #complain(what: string, error: unknown): void {
    if (!isCutError(error)) this.#violations.add(what, error)
  }
}

const keyOf = (at: number) => `soak/${at}`

/** Returns whether an error follows from a cut connection or from a client that was closed or taken over on purpose. */
const isCutError = (error: unknown) =>
  error instanceof StateStoreError && ['closed', 'connection-lost', 'outcome-unknown'].includes(error.code)
