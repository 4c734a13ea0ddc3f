import { defer, map, mergeMap, type Observable, type OperatorFunction, tap } from 'rxjs'
import { checkFlag, checkHas, checkPositiveInteger } from '../../core/util/check.js'
import { OverflowError } from '../../core/util/errors.js'
import type { ItemResult, WithItem } from '../../core/util/with-item.js'
import { checkName } from '../wire/rules.js'
import type { SendResult } from './events.js'
import type { Group } from './group.js'
import type { PubSubClient } from './pubsub-client.js'
import { checkNoEcho, checkSendOptions, type GroupSendOptions, type SendOptions } from './send.js'

/** The options of {@link sendToGroup} and {@link sendEvent}. */
export interface SendingOptions<W extends boolean = false> {
  /** The maximum number of sends in flight. Default: 64. */
  readonly concurrency?: number | undefined
  /**
   * The maximum number of items that wait to be sent or for an earlier result. Further items fail with `overflow`.
   * Default: 65,536.
   */
  readonly buffer?: number | undefined
  /** Whether to emit `{ item, result }` instead of the result. Default: `false`. */
  readonly withItem?: W | undefined
}

/**
 * Sends every item to a group, in the order of the source, and emits the results in the same order. Up to `concurrency`
 * sends are in flight. Fails as {@link Group.send} does. Throws `argument` for invalid options.
 *
 * @example
 * ```ts
 * readings$
 *   .pipe(sendToGroup(client.group('line-1'), { noEcho: true }))
 *   .subscribe()
 * ```
 */
export function sendToGroup<T = unknown, W extends boolean = false>(
  group: Group,
  options: GroupSendOptions & SendingOptions<W> = {},
): OperatorFunction<T, WithItem<W, T, SendResult>> {
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
export function sendEvent<T = unknown, W extends boolean = false>(
  client: PubSubClient,
  name: string,
  options: SendOptions & SendingOptions<W> = {},
): OperatorFunction<T, WithItem<W, T, SendResult>> {
  checkHas('client', client, ['sendEvent'])
  checkName('event', name)
  checkSending(options)
  return sendInOrder(item => client.sendEvent(name, item, options), options)
}

const checkSending = (options: SendOptions): unknown => checkSendOptions(options, 1)

function sendInOrder<T, R, W extends boolean>(
  send: (item: T) => Observable<R>,
  options: SendingOptions<W>,
): OperatorFunction<T, WithItem<W, T, R>>
function sendInOrder<T, R>(
  send: (item: T) => Observable<R>,
  options: SendingOptions<boolean>,
): OperatorFunction<T, R | ItemResult<T, R>> {
  const { concurrency = 64, buffer = 65_536, withItem = false } = options
  checkFlag('withItem', withItem)
  checkPositiveInteger('concurrency', concurrency)
  checkPositiveInteger('buffer', buffer)
  return source =>
    defer(() => {
      const results = new OrderedResults<R | ItemResult<T, R>>()
      let held = 0
      const admit = (): void => {
        if (++held > buffer + concurrency) throw new OverflowError('The buffer of the operator', buffer)
      }
      return source.pipe(
        tap(admit),
        mergeMap(
          (item, index) => send(item).pipe(map(result => results.add(index, withItem ? { item, result } : result))),
          concurrency,
        ),
        mergeMap(ready => ready),
        tap(() => held--),
      )
    })
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
