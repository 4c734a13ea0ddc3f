import { describe, expect, it } from 'vitest'
import { LazyCodec } from '../../../src/pubsub/client/connect-pubsub.js'
import { jsonClientCodec } from '../../../src/pubsub/wire/json-client-codec.js'

describe('LazyCodec', () => {
  it('a codec is loaded only once', async () => {
    let loads = 0
    const codec = new LazyCodec('name', async () => {
      loads++
      return jsonClientCodec
    })
    await codec.load()
    await codec.load()
    expect(loads).toBe(1)
    expect(codec.subprotocol).toBe('name')
    expect(codec.encode({ type: 'ping' })).toBe(jsonClientCodec.encode({ type: 'ping' }))
    expect(codec.decode('{"type":"pong"}')).toEqual({ type: 'pong' })
  })

  it('a codec throws before it is loaded', () => {
    const codec = new LazyCodec('name', async () => jsonClientCodec)
    expect(() => codec.encode({ type: 'ping' })).toThrow('not loaded')
    expect(() => codec.decode('{"type":"pong"}')).toThrow('not loaded')
  })

  it('loading can be retried after a failure', async () => {
    let fails = true
    const codec = new LazyCodec('name', () => {
      if (fails) return Promise.reject(new Error('offline'))
      return Promise.resolve(jsonClientCodec)
    })
    await expect(codec.load()).rejects.toThrow('offline')
    fails = false
    await codec.load()
    expect(codec.decode('{"type":"pong"}')).toEqual({ type: 'pong' })
  })
})
