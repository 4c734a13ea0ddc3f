import { type Channel, channelOf } from './channel.js'

/** The steps of a traced operation. Each step has a separate channel, such as `tracing:NAME:start`. */
export type TracingStep = 'start' | 'end' | 'asyncStart' | 'asyncEnd' | 'error'

/**
 * The channels of one kind of asynchronous operation, named and used like the channels of Node's `TracingChannel`. All events of an operation have the same context object.
 *
 * - `start` and `end` surround the call that begins the operation.
 * - `error` reports that it failed; the context has the reason.
 * - `asyncStart` and `asyncEnd` surround the delivery of its outcome.
 */
export interface TracingChannel<C extends object> {
  readonly hasSubscribers: boolean
  /** Begins an operation by calling `task`. */
  begin<R>(context: C, task: () => R): R
  /** Ends an operation. `deliver` forwards the outcome. */
  settle(context: C, hasFailed: boolean, deliver: () => void): void
}

export function tracingChannelOf<C extends object>(name: string): TracingChannel<C> {
  const channel = (step: TracingStep): Channel<C> => channelOf(`tracing:${name}:${step}`)
  const start = channel('start')
  const end = channel('end')
  const asyncStart = channel('asyncStart')
  const asyncEnd = channel('asyncEnd')
  const error = channel('error')
  return {
    get hasSubscribers() {
      return (
        start.hasSubscribers ||
        asyncEnd.hasSubscribers ||
        error.hasSubscribers ||
        end.hasSubscribers ||
        asyncStart.hasSubscribers
      )
    },
    begin: (context, task) =>
      start.runStores(context, () => {
        try {
          return task()
        } finally {
          end.publish(context)
        }
      }),
    settle(context, hasFailed, deliver) {
      if (hasFailed) error.publish(context)
      asyncStart.publish(context)
      try {
        deliver()
      } finally {
        asyncEnd.publish(context)
      }
    },
  }
}
