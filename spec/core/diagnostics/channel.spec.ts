import diagnostics from 'node:diagnostics_channel'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { channelOf, createLocalChannel } from '../../../src/core/diagnostics/channel.js'
import { subscribe } from '../../../src/core/diagnostics/index.js'
import { tracingChannelOf } from '../../../src/core/diagnostics/tracing-channel.js'

describe('a diagnostics channel', () => {
  it('is the channel of diagnostics_channel in Node', () => {
    expect(channelOf('rx-statestore:spec')).toBe(diagnostics.channel('rx-statestore:spec'))
  })

  it('has subscribers until each of two equal subscriptions has ended', () => {
    const listener = vi.fn()
    const [first, second] = [subscribe('rx-statestore:lease', listener), subscribe('rx-statestore:lease', listener)]
    first()
    first()
    expect(diagnostics.hasSubscribers('rx-statestore:lease')).toBe(true)
    second()
    expect(diagnostics.hasSubscribers('rx-statestore:lease')).toBe(false)
  })
})

describe('a channel without diagnostics_channel', () => {
  it('calls its listeners in order with message and name until they unsubscribe', () => {
    const channel = createLocalChannel('a')
    const calls: unknown[] = []
    const first = (message: unknown, name: string | symbol): void => void calls.push(['first', message, name])
    const second = (message: unknown, name: string | symbol): void => void calls.push(['second', message, name])
    channel.subscribe(first)
    channel.subscribe(second)
    channel.publish(1)
    expect(channel.unsubscribe(first)).toBe(true)
    expect(channel.unsubscribe(first)).toBe(false)
    expect(channel.runStores(2, () => 'result')).toBe('result')
    expect(calls).toEqual([
      ['first', 1, 'a'],
      ['second', 1, 'a'],
      ['second', 2, 'a'],
    ])
  })

  it('has no subscribers at first, and none after the last has left', () => {
    const channel = createLocalChannel('a')
    const listener = (): void => undefined
    expect(channel.hasSubscribers).toBe(false)
    channel.subscribe(listener)
    expect(channel.hasSubscribers).toBe(true)
    channel.unsubscribe(listener)
    expect(channel.hasSubscribers).toBe(false)
  })

  it('delivers a message to all listeners, even if one unsubscribes during the delivery', () => {
    const channel = createLocalChannel('a')
    const other = vi.fn()
    const once = (): void => void channel.unsubscribe(once)
    channel.subscribe(once)
    channel.subscribe(other)
    channel.publish(1)
    expect(other).toHaveBeenCalledTimes(1)
  })
})

describe('a tracing channel', () => {
  const STEPS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const

  function record(name: string) {
    const steps: string[] = []
    for (const step of STEPS) {
      const listener = (): void => void steps.push(step)
      diagnostics.subscribe(`tracing:${name}:${step}`, listener)
      onTestFinished(() => void diagnostics.unsubscribe(`tracing:${name}:${step}`, listener))
    }
    return steps
  }

  it.each(STEPS)('has subscribers if only %s has', step => {
    const tracing = tracingChannelOf(`spec-${step}`)
    expect(tracing.hasSubscribers).toBe(false)
    const listener = (): void => undefined
    diagnostics.subscribe(`tracing:spec-${step}:${step}`, listener)
    expect(tracing.hasSubscribers).toBe(true)
    diagnostics.unsubscribe(`tracing:spec-${step}:${step}`, listener)
    expect(tracing.hasSubscribers).toBe(false)
  })

  it('publishes the steps in the order of a TracingChannel', () => {
    const tracing = tracingChannelOf('spec-order')
    const steps = record('spec-order')
    tracing.begin({}, () => steps.push('call'))
    tracing.settle({}, true, () => steps.push('deliver'))
    expect(steps).toEqual(['start', 'call', 'end', 'error', 'asyncStart', 'deliver', 'asyncEnd'])
  })

  it('also publishes end and asyncEnd after an exception', () => {
    const tracing = tracingChannelOf('spec-throws')
    const steps = record('spec-throws')
    const fail = (): never => {
      throw new Error('broken')
    }
    expect(() => tracing.begin({}, fail)).toThrow('broken')
    expect(() => tracing.settle({}, false, fail)).toThrow('broken')
    expect(steps).toEqual(['start', 'end', 'asyncStart', 'asyncEnd'])
  })

  it('runs the call in the async contexts that are bound to start', async () => {
    const { AsyncLocalStorage } = await import('node:async_hooks')
    const storage = new AsyncLocalStorage<string>()
    diagnostics.tracingChannel<string, { readonly id: string }>('spec-store').start.bindStore(storage, ({ id }) => id)
    const tracing = tracingChannelOf('spec-store')
    expect(tracing.begin({ id: 'one' }, () => storage.getStore())).toBe('one')
  })
})
