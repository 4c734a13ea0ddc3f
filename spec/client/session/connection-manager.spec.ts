import { PassThrough } from 'node:stream'
import mqtt from 'mqtt'
import { describe, expect, it, vi } from 'vitest'
import { AddressRouter } from '../../../src/client/session/addresses.js'
import type { ConnectionLoss } from '../../../src/client/session/connection-loss.js'
import {
  backoffStrategy,
  ConnectionManager,
  type ReconnectSettings,
} from '../../../src/client/session/connection-manager.js'
import type { Credentials } from '../../../src/client/session/mqttjs-options.js'
import { disconnectCode, REFUSALS, type Retry } from '../../../src/core/mqtt5/refusals.js'
import { ConnectionLostError, ConnectionRefusedError, type StateStoreError } from '../../../src/core/util/errors.js'
import { ManualClock } from '../../support/manual-clock.js'

const LOST: ConnectionLoss = {
  error: new ConnectionLostError(),
  reasonCode: undefined,
  wasConnected: true,
  serverReference: undefined,
  shouldRetrySameAddress: false,
  isRejection: false,
  refusal: new ConnectionRefusedError('refused', undefined),
}
const STABLE_AFTER_MS = 5_000

interface Attempt {
  readonly at: number
  readonly url: string
  readonly clean: boolean | undefined
  readonly connectTimeout: number | undefined
}

/** Records attempts at several addresses without connecting. The spec decides the outcome of each attempt. */
function createManager(
  urls: readonly string[],
  options: Partial<ReconnectSettings> & { readonly followReferences?: boolean; readonly connectTimeout?: number } = {},
) {
  const clock = new ManualClock()
  const attempts: Attempt[] = []
  const waits: { attempt: number; wait: number }[] = []
  const gaveUp: unknown[] = []
  const backoff = { random: () => 0.5 }
  const { followReferences = false, connectTimeout = 10_000, ...reconnecting } = options
  const route = new AddressRouter({ urls, connectTimeout, cleanStart: false, random: () => 0, followReferences }, url =>
    mqtt.connect(url, { manualConnect: true, protocolVersion: 5, clientId: 'c', clean: false }),
  )
  const start = clock.monotonic()
  vi.spyOn(route.client, 'reconnect').mockImplementation(() => {
    const { clean, connectTimeout } = route.client.options
    attempts.push({ at: clock.monotonic() - start, url: route.name, clean, connectTimeout: connectTimeout })
    route.client.stream = new PassThrough()
    return route.client
  })
  const manager = new ConnectionManager(
    route,
    { strategy: backoffStrategy(backoff), credentials: undefined, backoff, ...reconnecting },
    clock,
    {
      retryScheduled: (_cause, { attempt, at }) => waits.push({ attempt, wait: at - clock.now() }),
      gaveUp: cause => gaveUp.push(cause),
      failed: () => undefined,
      streamFailed: () => undefined,
    },
  )
  /** Fails the attempt or the connection, and advances to the next attempt. */
  const fail = (shouldRetrySameAddress = false, loss: Partial<ConnectionLoss> = {}): void => {
    manager.lost({ ...LOST, shouldRetrySameAddress: shouldRetrySameAddress, ...loss })
    clock.advance(waits.at(-1)?.wait ?? 0)
  }
  /** Returns whether the manager gives up after the loss. */
  const isFatal = (loss: Partial<ConnectionLoss>): boolean => {
    const before = gaveUp.length
    manager.lost({ ...LOST, ...loss })
    return gaveUp.length > before
  }
  const hold = (ms = STABLE_AFTER_MS): void => {
    manager.connected()
    clock.advance(ms)
  }
  return {
    clock,
    manager,
    route,
    attempts,
    waits,
    gaveUp,
    fail,
    isFatal,
    hold,
    urls: () => attempts.map(({ url }) => url),
  }
}

const THREE = ['mqtt://a', 'mqtt://b', 'mqtt://c']

describe('rounds of addresses', () => {
  it('a round tries all addresses quickly, and the pauses between rounds grow', () => {
    const { manager, fail, waits, urls } = createManager(THREE)
    manager.start()
    for (let i = 0; i < 8; i++) fail()
    const [first] = urls()
    expect(new Set(urls().slice(0, 3)).size).toBe(3)
    expect([urls()[3], urls()[6]]).toEqual([first, first])
    expect(waits.map(({ wait }) => wait)).toEqual([50, 50, 75, 50, 50, 150, 50, 50])
    expect(waits.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  it('the strategy is called once per round, with the number of the round', () => {
    const asked: number[] = []
    const strategy = (round: number): number => {
      asked.push(round)
      return 10
    }
    const { manager, fail } = createManager(THREE, { strategy })
    manager.start()
    for (let i = 0; i < 9; i++) fail()
    expect(asked).toEqual([1, 2, 3])
  })

  it('rounds continue until the strategy gives up', () => {
    const { manager, fail, gaveUp, urls } = createManager(THREE, { strategy: () => false })
    manager.start()
    fail()
    fail()
    expect(gaveUp).toEqual([])
    manager.lost(LOST)
    expect(gaveUp).toEqual([LOST.error])
    expect(urls()).toHaveLength(3)
  })

  it('a timeout that exceeds the timers of Node is capped', () => {
    const { manager, attempts } = createManager(['mqtt://a'], { connectTimeout: Number.MAX_SAFE_INTEGER })
    manager.start()
    expect(attempts).toMatchObject([{ connectTimeout: 2 ** 31 - 1 }])
  })

  it('the timeout of an attempt starts short and doubles per round, for slow networks', () => {
    const { manager, fail, attempts } = createManager(['mqtt://a', 'mqtt://b'])
    manager.start()
    for (let i = 0; i < 9; i++) fail()
    const connectTimeout = attempts.map(attempt => attempt.connectTimeout)
    expect(connectTimeout).toEqual([1_500, 1_500, 3_000, 3_000, 6_000, 6_000, 10_000, 10_000, 10_000, 10_000])
  })

  it('a single address gets the full connect timeout per attempt', () => {
    const { manager, fail, waits, attempts } = createManager(['mqtt://a'])
    manager.start()
    for (let i = 0; i < 3; i++) fail(true)
    expect(waits).toEqual([
      { attempt: 1, wait: 75 },
      { attempt: 2, wait: 150 },
      { attempt: 3, wait: 300 },
    ])
    expect(attempts.map(({ connectTimeout }) => connectTimeout)).toEqual([10_000, 10_000, 10_000, 10_000])
  })

  it('a short-lived connection does not restart the count of rounds', () => {
    const { manager, fail, hold, waits } = createManager(['mqtt://a', 'mqtt://b'])
    manager.start()
    for (let i = 0; i < 4; i++) {
      hold(STABLE_AFTER_MS - 1)
      fail(true)
    }
    expect(waits.map(({ wait }) => wait)).toEqual([50, 75, 50, 150])
  })

  it('failing credentials end the round, as the same credentials apply to all addresses', async () => {
    const credentials = vi.fn(() => Promise.reject(new Error('none')))
    const { manager, waits } = createManager(THREE, { credentials })
    manager.start()
    await expect.poll(() => waits).toEqual([{ attempt: 1, wait: 75 }])
    expect(credentials).toHaveBeenCalledTimes(1)
  })

  it('credentials past the connect timeout fail, are requested again and are ignored later', async () => {
    const pending: ((credentials: Credentials) => void)[] = []
    const credentials = () => new Promise<Credentials>(resolve => pending.push(resolve))
    const causes: StateStoreError[] = []
    const strategy = (_round: number, cause: StateStoreError) => {
      causes.push(cause)
      return 100
    }
    const { manager, clock, attempts, waits, route } = createManager(['mqtt://a'], { credentials, strategy })
    manager.start()
    await expect.poll(() => pending).toHaveLength(1)
    clock.advance(9_999)
    expect(waits).toEqual([])
    clock.advance(1)
    expect(waits).toEqual([{ attempt: 1, wait: 100 }])
    expect(causes[0]?.message).toBe(
      'Cannot get credentials: `credentials` has not settled within 10000 ms: check the service that it waits for',
    )
    clock.advance(100)
    await expect.poll(() => pending).toHaveLength(2)
    pending[0]?.({ username: 'late' })
    pending[1]?.({ username: 'timely' })
    await expect.poll(() => attempts).toHaveLength(1)
    expect(route.client.options.username).toBe('timely')
    clock.advance(60_000)
    expect(waits).toHaveLength(1)
  })
})

describe('a stable connection', () => {
  it('after a stable connection, the same address is retried with its session, then others', () => {
    const { manager, fail, hold, waits, attempts, urls } = createManager(THREE)
    manager.start()
    hold()
    fail(true)
    fail()
    fail()
    const [home] = urls()
    expect(urls().slice(0, 2)).toEqual([home, home])
    expect(new Set(urls().slice(1)).size).toBe(3)
    expect(attempts.map(({ clean }) => clean)).toEqual([false, false, true, true])
    expect(waits.map(({ wait }) => wait)).toEqual([50, 50, 50])
  })

  it('the client immediately leaves an unavailable broker for the next address', () => {
    const { manager, fail, hold, urls } = createManager(THREE)
    manager.start()
    hold()
    fail(false)
    expect(urls()[1]).not.toBe(urls()[0])
  })

  it('a client stays at its last address and does not resume an old session elsewhere', () => {
    const { manager, fail, hold, attempts, urls } = createManager(['mqtt://a', 'mqtt://b'])
    manager.start()
    hold()
    fail(false)
    hold()
    fail(true)
    fail()
    const [home, other] = urls()
    expect(urls()).toEqual([home, other, other, home])
    expect(attempts.map(({ clean }) => clean)).toEqual([false, true, false, true])
  })

  it('a client resumes its session unless it has since had a session at another broker', () => {
    const { manager, fail, hold, attempts } = createManager(['mqtt://a', 'mqtt://b'])
    manager.start()
    hold()
    fail(false)
    fail()
    expect(attempts.map(({ clean }) => clean)).toEqual([false, true, false])
  })

  it('resets the attempt count', () => {
    const { manager, fail, hold, waits } = createManager(['mqtt://a', 'mqtt://b'])
    manager.start()
    for (let i = 0; i < 4; i++) fail()
    hold()
    fail(true)
    expect(waits.at(-1)).toEqual({ attempt: 1, wait: 50 })
  })
})

describe('a short connection after a long outage', () => {
  /** Returns the delay after a connection that held for `heldMs` and followed many failed attempts. */
  const delayAfter = (heldMs: number, loss: Partial<ConnectionLoss> = {}) => {
    const { manager, fail, hold, waits } = createManager(['mqtt://a'])
    manager.start()
    for (let i = 0; i < 10; i++) fail()
    hold(heldMs)
    fail(true, loss)
    return waits.at(-1)?.wait
  }

  it('the next delay is about as long as the connection held', () => {
    expect([50, 250, 500, 1_000, 4_999, 5_000].map(held => delayAfter(held))).toEqual([3_750, 150, 300, 600, 2_400, 75])
  })

  it('only a stable connection shortens the delays if a packet ended it', () => {
    expect([500, 5_000].map(held => delayAfter(held, { isRejection: true }))).toEqual([3_750, 75])
  })

  it('an attempt that is made early starts with small delays again', () => {
    const { manager, fail, waits, attempts } = createManager(['mqtt://a'])
    manager.start()
    for (let i = 0; i < 10; i++) fail()
    manager.lost(LOST)
    const before = attempts.length
    manager.skipRetryDelay()
    manager.skipRetryDelay()
    fail()
    expect([attempts.length - before, waits.at(-1)?.wait]).toEqual([2, 75])
  })
})

describe('a broker that refers to another server', () => {
  it('a client follows a server reference, which costs one attempt of the round', () => {
    const { manager, fail, gaveUp, hold, waits, urls } = createManager(['mqtt://a'], { followReferences: true })
    manager.start()
    hold()
    fail(false, { reasonCode: 156, serverReference: 'b' })
    fail(false, { reasonCode: 157, serverReference: 'a' })
    expect(gaveUp).toEqual([])
    expect(urls()).toEqual(['mqtt://a', 'mqtt://b', 'mqtt://a'])
    expect(waits.map(({ wait }) => wait)).toEqual([50, 75])
  })

  it('a reference is fatal if there is one address and no permission for others', () => {
    for (const reasonCode of [156, 157]) {
      expect(createManager(['mqtt://a']).isFatal({ reasonCode, serverReference: 'b' })).toBe(true)
      expect(createManager(['mqtt://a', 'mqtt://b']).isFatal({ reasonCode })).toBe(false)
    }
  })
})

describe('refusals', () => {
  const EXPECTED: Readonly<Record<Retry, readonly [first: boolean, later: boolean]>> = {
    always: [true, true],
    'after-login': [false, true],
    elsewhere: [false, false],
    never: [false, false],
  }
  const rows = Array.from(REFUSALS, ([reasonCode, { cause, retry }]) => [reasonCode, cause, retry] as const)

  it.each(rows)('a client retries after CONNACK %d (%s) as the table states: %s', (reasonCode, _cause, retry) => {
    const refused = { reasonCode, wasConnected: false }
    const later = createManager(['mqtt://a'])
    later.hold()
    const isRetried = [createManager(['mqtt://a']), later].map(({ isFatal }) => !isFatal(refused))
    expect(isRetried).toEqual(EXPECTED[retry])
    expect(createManager(['mqtt://a', 'mqtt://b']).isFatal(refused)).toBe(retry !== 'always' && retry !== 'elsewhere')
  })

  it.each(rows)('a connected client retries after the DISCONNECT for %d (%s)', (reasonCode, _cause, retry) => {
    const code = disconnectCode(reasonCode)
    const client = createManager(['mqtt://a'])
    client.hold()
    // A final refusal is repeated in CONNACK.
    const canBeFinal = retry === 'never' || retry === 'elsewhere'
    if (!canBeFinal || code === reasonCode) expect(client.isFatal({ reasonCode: code })).toBe(canBeFinal)
  })

  it('a DISCONNECT with 135 is retried with growing pauses, and the status has its cause', () => {
    const { manager, fail, waits, gaveUp } = createManager(['mqtt://a'])
    manager.start()
    for (let i = 0; i < 3; i++) {
      manager.connected()
      fail(true, { reasonCode: 135, isRejection: true })
    }
    expect(gaveUp).toEqual([])
    expect(waits.map(({ wait }) => wait)).toEqual([75, 150, 300])
  })
})

describe('a persistent connection', () => {
  it('is retried after any DISCONNECT except a takeover or a redirection', () => {
    const { isFatal } = createManager(['mqtt://a'], { isPersistent: true })
    const codes = [130, 135, 142, 144, 157]
    expect(codes.map(reasonCode => isFatal({ reasonCode }))).toEqual([false, false, true, false, true])
    expect(codes.map(reasonCode => isFatal({ reasonCode, wasConnected: false }))).toEqual(codes.map(() => true))
  })
})

describe('a discarded session', () => {
  it('is replaced immediately, and the new session is resumed again', () => {
    const { manager, fail, attempts, waits } = createManager(['mqtt://a'])
    manager.start()
    manager.connected()
    manager.startNewSession()
    fail()
    expect([attempts.at(-1)?.clean, waits.at(-1)?.wait]).toEqual([true, 0])
    fail()
    expect([attempts.at(-1)?.clean, waits.at(-1)?.wait]).toEqual([true, 75])
    manager.connected()
    fail()
    expect(attempts.at(-1)?.clean).toBe(false)
  })
})
