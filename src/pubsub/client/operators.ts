import { defer, map, mergeMap, type Observable, type OperatorFunction, tap } from 'rxjs'
import { Awaitable, NO_ITEM } from '../../core/util/awaitable.js'
import { checkHas, checkPositiveInteger } from '../../core/util/check.js'
import { OverflowError } from '../../core/util/errors.js'
import type { ItemResult } from '../../core/util/item-result.js'
import { checkName } from '../wire/rules.js'
import type { SendResult } from './events.js'
import type { Group } from './group.js'
import type { PubSubClient } from './pubsub-client.js'
import { checkNoEcho, checkSendOptions, type GroupSendOptions, type SendOptions } from './send.js'

/** The options of {@link sendToGroup} and {@link sendEvent}. */
export interface SendingOptions {
  /** The maximum number of sends in flight. Default: 64. */
  readonly concurrency?: number | undefined
  /**
   * The maximum number of items that wait to be sent or for an earlier result. Further items fail with `overflow`.
   * Default: 65,536.
   */
  readonly buffer?: number | undefined
}

/**
 * Sends every item to a group, in the order of the source, and emits the results with their items in the same order. Up to `concurrency`
 * sends are in flight. Fails as {@link Group.send} does. Throws `argument` for invalid options.
 *
 * @example
 * ```ts
 * readings$
 *   .pipe(sendToGroup(client.group('line-1'), { noEcho: true }))
 *   .subscribe()
 * ```
 */
export function sendToGroup<T = unknown>(
  group: Group,
  options: GroupSendOptions & SendingOptions = {},
): OperatorFunction<T, ItemResult<T, SendResult>> {
  checkHas('group', group, ['send'])
  checkSending(options)
  checkNoEcho(options)
  return sendInOrder(item => group.send(item, options), options)
}

/**
 * Sends every item as an event to the application's server, in the same way as {@link sendToGroup}. Fails as {@link
 * PubSubClient.sendEvent} does.
 *
 * @example
 * ```ts
 * clicks$.pipe(sendEvent(client, 'click')).subscribe()
 * ```
 */
export function sendEvent<T = unknown>(
  client: PubSubClient,
  name: string,
  options: SendOptions & SendingOptions = {},
): OperatorFunction<T, ItemResult<T, SendResult>> {
  checkHas('client', client, ['sendEvent'])
  checkName('event', name)
  checkSending(options)
  return sendInOrder(item => client.sendEvent(name, item, options), options)
}

const checkSending = (options: SendOptions): unknown => checkSendOptions(options, 1)

function sendInOrder<T, R>(
  send: (item: T) => Observable<R>,
  { concurrency = 64, buffer = 65_536 }: SendingOptions,
): OperatorFunction<T, ItemResult<T, R>> {
  checkPositiveInteger('concurrency', concurrency)
  checkPositiveInteger('buffer', buffer)
  return source => {
    const results$ = defer(() => {
      const results = new OrderedResults<ItemResult<T, R>>()
      let held = 0
      const admit = (): void => {
        if (++held > buffer + concurrency) throw new OverflowError('The buffer of the operator', buffer)
      }
      return source.pipe(
        tap(admit),
        mergeMap((item, index) => send(item).pipe(map(result => results.add(index, { ...result, item }))), concurrency),
        mergeMap(ready => ready),
        tap(() => held--),
      )
    })
    return new Awaitable<ItemResult<T, R>, undefined>(subscriber => results$.subscribe(subscriber), NO_ITEM)
  }
}

class OrderedResults<R> {
  readonly #waiting = new Map<number, R>()
  #next = 0

  add(index: number, result: R): readonly R[] {
    const ready: R[] = []
    this.#waiting.set(index, result)
    for (let next = this.#takeNext(); next !== undefined; next = this.#takeNext()) ready.push(next)
    return ready
  }

  #takeNext(): R | undefined {
    const next = this.#waiting.get(this.#next)
    if (next !== undefined) this.#waiting.delete(this.#next++)
    return next
  }
}
