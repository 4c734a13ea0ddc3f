import { afterIo } from '../util/clock.js'

/** A named channel of events, as in Node's `diagnostics_channel`. */
export interface Channel<T> {
  /** Check this first: an event without subscribers must cost nothing. */
  readonly hasSubscribers: boolean
  publish(message: T): void
  subscribe(listener: ChannelListener): void
  /** Returns whether the listener was subscribed. */
  unsubscribe(listener: ChannelListener): boolean
  /** Publishes `message` and runs `task`, in the async contexts that tracers have bound to the channel. */
  runStores<R>(message: T, task: () => R): R
}

/** A method, so that a listener of one type of event fits: a channel has the events that its name stands for. */
export type ChannelListener = { listen(message: unknown, name: string | symbol): void }['listen']

interface ChannelModule {
  channel(name: string): Channel<unknown>
}

/** Node 20.16 or later, Deno and Bun; elsewhere, such as in browsers, {@link createLocalChannel} replaces it. */
const runtime: { readonly process?: { getBuiltinModule?(id: string): object | undefined } } = globalThis
const builtin = runtime.process?.getBuiltinModule?.('node:diagnostics_channel')
const hasChannels = (module: object | undefined): module is ChannelModule => module !== undefined && 'channel' in module

/** Not a property of a client: as in Node, a channel is the same one for all clients and stores. */
const localChannels = new Map<string, Channel<unknown>>()

/** Returns the channel of a name; always the same one. */
export function channelOf(name: string): Channel<unknown> {
  if (hasChannels(builtin)) return builtin.channel(name)
  const channel = localChannels.get(name) ?? createLocalChannel(name)
  localChannels.set(name, channel)
  return channel
}

/** Creates a channel for runtimes without `diagnostics_channel`. */
export function createLocalChannel(name: string): Channel<unknown> {
  const listeners = new Set<ChannelListener>()
  const channel: Channel<unknown> = {
    get hasSubscribers() {
      return listeners.size > 0
    },
    publish(message) {
      // A copy: a listener may subscribe and unsubscribe.
      for (const listener of Array.from(listeners)) {
        try {
          listener(message, name)
        } catch (error) {
          // Raised outside of the publisher, as in Node.
          afterIo(() => {
            throw error
          })
        }
      }
    },
    subscribe: listener => void listeners.add(listener),
    unsubscribe: listener => listeners.delete(listener),
    runStores(message, task) {
      channel.publish(message)
      return task()
    },
  }
  return channel
}
