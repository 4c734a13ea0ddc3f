import type { Observable, Subscription } from 'rxjs'
import { AbortError, ArgumentError } from '../../core/util/errors.js'

interface Waiter<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void
  readonly reject: (error: unknown) => void
}

const DONE: IteratorResult<never, undefined> = { done: true, value: undefined }

/**
 * An observable of states for a `for await` loop. It is subscribed when the loop first asks, and unsubscribed when the
 * loop is left. It holds one value at most, the newest: what comes while the loop is busy takes the place of what it has
 * not taken. So a slow loop misses steps, but never the last one.
 */
export class Latest<T> implements AsyncIterableIterator<T, undefined> {
  readonly #source: Observable<T>
  readonly #waiters: Waiter<T>[] = []
  #subscription: Subscription | undefined
  #newest: { readonly value: T } | undefined
  #failure: { readonly error: unknown } | undefined
  #ended = false

  constructor(source: Observable<T>) {
    this.#source = source
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The newest value that was not taken yet, as soon as there is one. Rejects, once, with what the observable errors with. */
  next(): Promise<IteratorResult<T, undefined>> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject })
      if (!this.#subscription && !this.#ended) this.#subscribe()
      this.#serve()
    })
  }

  /** What a loop calls that is left before the end. */
  async return(): Promise<IteratorResult<T, undefined>> {
    this.#newest = undefined
    this.#failure = undefined
    this.#subscription?.unsubscribe()
    this.#end()
    return DONE
  }

  #subscribe(): void {
    this.#subscription = this.#source.subscribe({
      next: value => {
        this.#newest = { value }
        this.#serve()
      },
      error: error => {
        this.#failure = { error }
        // Who aborts wants no more.
        if (error instanceof AbortError) this.#newest = undefined
        this.#end()
      },
      complete: () => this.#end(),
    })
  }

  #end(): void {
    this.#ended = true
    this.#serve()
  }

  #serve(): void {
    while (this.#newest || this.#ended) {
      const waiter = this.#waiters.shift()
      if (waiter === undefined) return
      this.#answer(waiter)
    }
  }

  #answer({ resolve, reject }: Waiter<T>): void {
    const newest = this.#newest
    const failure = this.#failure
    if (newest) {
      this.#newest = undefined
      resolve({ done: false, value: newest.value })
    } else if (failure) {
      this.#failure = undefined
      reject(failure.error)
    } else resolve(DONE)
  }
}

/** What JSON makes `{}` of, or an object of numbers, or nothing. */
const LOST = [Map, Set, WeakMap, WeakSet, ArrayBuffer, RegExp, Error, Promise] as const

/**
 * Throws {@link ArgumentError}, with the path, for what `JSON.stringify` would change or leave out without a word. Properties
 * that are `undefined` may be left out: that is how optional ones are written. Of a value that says itself how it becomes
 * JSON (`toJSON`, such as a Date) it is the result that counts. -0 becomes 0, which is equal.
 */
export function checkLossless(value: unknown): void {
  check(value, '', new Set())
}

/** @param around - the objects that it is in: of a circle JSON says itself what is wrong */
function check(value: unknown, path: string, around: Set<object>): void {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw lost(String(value), path)
    return
  }
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol') {
    throw lost(typeof value, path)
  }
  if (typeof value !== 'object' || value === null || around.has(value)) return
  // JSON makes what is in the box of it.
  if (value instanceof Number) check(value.valueOf(), path, around)
  around.add(value)
  if ('toJSON' in value && typeof value.toJSON === 'function')
    checkMade(value, value.toJSON(lastOf(path)), path, around)
  else checkContent(value, path, around)
  around.delete(value)
}

/** What `toJSON` has returned, whose own `toJSON` is not asked any more. */
function checkMade(from: object, made: unknown, path: string, around: Set<object>): void {
  if (from instanceof Date && made === null) throw lost('invalid Date', path)
  if (made === undefined && (path === '' || path.endsWith(']'))) throw lost('undefined', path)
  if (typeof made === 'object' && made !== null && !around.has(made)) {
    around.add(made)
    checkContent(made, path, around)
    around.delete(made)
  } else if (made !== from) check(made, path, around)
}

function checkContent(value: object, path: string, around: Set<object>): void {
  const symbol = Object.getOwnPropertySymbols(value).find(name =>
    Object.prototype.propertyIsEnumerable.call(value, name),
  )
  if (symbol !== undefined) throw lost('property that is a symbol', `${path}[${String(symbol)}]`)
  if (Array.isArray(value)) checkArray(value, path, around)
  else checkProperties(value, path, around)
}

function checkArray(items: readonly unknown[], path: string, around: Set<object>): void {
  // By index: a hole is passed over by everything else, and becomes null.
  for (let i = 0; i < items.length; i++) {
    if (items[i] === undefined) throw lost('undefined', `${path}[${i}]`)
    check(items[i], `${path}[${i}]`, around)
  }
  const names = Object.keys(items)
  if (names.length > items.length) throw lost('array with a property', `${path}.${names[items.length]}`)
}

function checkProperties(value: object, path: string, around: Set<object>): void {
  if (ArrayBuffer.isView(value) || LOST.some(kind => value instanceof kind)) {
    throw lost(value.constructor.name, path)
  }
  for (const [name, property] of Object.entries(value)) check(property, path === '' ? name : `${path}.${name}`, around)
}

/** The name by which JSON asks `toJSON` for a value. */
const lastOf = (path: string): string => /[^.[\]]*(?=\]?$)/.exec(path)?.[0] ?? ''

const lost = (what: string, path: string): ArgumentError =>
  new ArgumentError(`JSON has no ${what}${path === '' ? '' : ` (at ${path})`}: write it as text or a plain object`)
