import { afterIo } from '../util/clock.js'

/** A named channel of events, as in Node's `diagnostics_channel`. */
export interface Channel<T> {
  /**
   * Whether the channel has subscribers. Publishers check this first, because an event without subscribers must cost
   * nothing.
   */
  readonly hasSubscribers: boolean
  publish(message: T): void
  subscribe(listener: ChannelListener): void
  /** Removes a listener. Returns whether the listener was subscribed. */
  unsubscribe(listener: ChannelListener): boolean
  /** Publishes `message` and runs `task`, in the async contexts that tracers have bound to the channel. */
  runStores<R>(message: T, task: () => R): R
}

/**
 * A listener of a channel. The type is derived from a method, so that a listener for one type of event is assignable: a
 * channel publishes only the events that its name stands for.
 */
export type ChannelListener = { listen(message: unknown, name: string | symbol): void }['listen']

interface ChannelModule {
  channel(name: string): Channel<unknown>
}

/**
 * The runtime, which provides built-in modules if it is Node 20.16 or later, Deno or Bun. Elsewhere, such as in
 * browsers, {@link createLocalChannel} replaces the module.
 */
const runtime: { readonly process?: { getBuiltinModule?(id: string): object | undefined } } = globalThis
const builtin = runtime.process?.getBuiltinModule?.('node:diagnostics_channel')
const hasChannels = (module: object | undefined): module is ChannelModule => module !== undefined && 'channel' in module

/**
 * The channels of this process or page. They are not part of a client because, as in Node, all clients and stores share
 * a channel.
 */
const localChannels = new Map<string, Channel<unknown>>()

/** Returns the channel with a name, which is always the same object. */
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
      // Iterates over a copy, because a listener may subscribe and unsubscribe.
      for (const listener of Array.from(listeners)) {
        try {
          listener(message, name)
        } catch (error) {
          // The error is raised outside of the publisher, as in Node.
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
