import mqtt from 'mqtt'
import { describe, expect, it, vi } from 'vitest'
import { AddressRouter } from '../../../src/client/session/addresses.js'
import type { ConnectionLoss } from '../../../src/client/session/connection-loss.js'
import {
  backoffStrategy,
  ConnectionManager,
  type ReconnectSettings,
} from '../../../src/client/session/connection-manager.js'
import { ConnectionLostError, ConnectionRefusedError } from '../../../src/core/util/errors.js'
import { ManualClock } from '../../support/manual-clock.js'

const LOST: ConnectionLoss = {
  error: new ConnectionLostError(),
  reasonCode: undefined,
  wasConnected: true,
  serverReference: undefined,
  shouldRetrySameAddress: false,
  refusal: new ConnectionRefusedError('refused', undefined),
}
const HELD = 5_000

interface Attempt {
  readonly at: number
  readonly url: string
  readonly clean: boolean | undefined
  readonly patience: number | undefined
}

/** Several addresses that are never dialled but noted; a spec says what became of each attempt. */
function lay(
  urls: readonly string[],
  options: Partial<ReconnectSettings> & { readonly followReferences?: boolean } = {},
) {
  const clock = new ManualClock()
  const attempts: Attempt[] = []
  const waits: { attempt: number; wait: number }[] = []
  const gaveUp: unknown[] = []
  const backoff = { random: () => 0.5 }
  const { followReferences = false, ...reconnecting } = options
  const route = new AddressRouter(
    { urls, connectTimeout: 10_000, cleanStart: false, random: () => 0, followReferences },
    url => mqtt.connect(url, { manualConnect: true, protocolVersion: 5, clientId: 'c', clean: false }),
  )
  const start = clock.monotonic()
  vi.spyOn(route.client, 'reconnect').mockImplementation(() => {
    const { clean, connectTimeout } = route.client.options
    attempts.push({ at: clock.monotonic() - start, url: route.name, clean, patience: connectTimeout })
    return route.client
  })
  const dialler = new ConnectionManager(
    route,
    { strategy: backoffStrategy(backoff), credentials: undefined, backoff, ...reconnecting },
    clock,
    {
      retryScheduled: (_cause, { attempt, at }) => waits.push({ attempt, wait: at - clock.now() }),
      gaveUp: cause => gaveUp.push(cause),
    },
  )
  /** The attempt, or the connection, fails; what follows is waited for. */
  const fail = (stays = false, loss: Partial<ConnectionLoss> = {}): void => {
    dialler.lost({ ...LOST, shouldRetrySameAddress: stays, ...loss })
    clock.advance(waits.at(-1)?.wait ?? 0)
  }
  /** Whether it gives up over that. */
  const isFatal = (loss: Partial<ConnectionLoss>): boolean => {
    const before = gaveUp.length
    dialler.lost({ ...LOST, ...loss })
    return gaveUp.length > before
  }
  const hold = (ms = HELD): void => {
    dialler.connected()
    clock.advance(ms)
  }
  return {
    clock,
    dialler,
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
  it('try each at once, and pause when all have failed, ever longer', () => {
    const { dialler, fail, waits, urls } = lay(THREE)
    dialler.start()
    for (let i = 0; i < 8; i++) fail()
    const [first] = urls()
    expect(new Set(urls().slice(0, 3)).size).toBe(3)
    expect([urls()[3], urls()[6]]).toEqual([first, first])
    expect(waits.map(({ wait }) => wait)).toEqual([50, 50, 75, 50, 50, 150, 50, 50])
    expect(waits.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  it('ask the strategy once each, with their number', () => {
    const asked: number[] = []
    const strategy = (round: number): number => {
      asked.push(round)
      return 10
    }
    const { dialler, fail } = lay(THREE, { strategy })
    dialler.start()
    for (let i = 0; i < 9; i++) fail()
    expect(asked).toEqual([1, 2, 3])
  })

  it('are over when the strategy gives up, and not before', () => {
    const { dialler, fail, gaveUp, urls } = lay(THREE, { strategy: () => false })
    dialler.start()
    fail()
    fail()
    expect(gaveUp).toEqual([])
    dialler.lost(LOST)
    expect(gaveUp).toEqual([LOST.error])
    expect(urls()).toHaveLength(3)
  })

  it('have little patience with an address at first, and then more, as a way may be slow', () => {
    const { dialler, fail, attempts } = lay(['mqtt://a', 'mqtt://b'])
    dialler.start()
    for (let i = 0; i < 9; i++) fail()
    const patience = attempts.map(attempt => attempt.patience)
    expect(patience).toEqual([1_500, 1_500, 3_000, 3_000, 6_000, 6_000, 10_000, 10_000, 10_000, 10_000])
  })

  it('of one address are attempts, with all the patience there is', () => {
    const { dialler, fail, waits, attempts } = lay(['mqtt://a'])
    dialler.start()
    for (let i = 0; i < 3; i++) fail(true)
    expect(waits).toEqual([
      { attempt: 1, wait: 75 },
      { attempt: 2, wait: 150 },
      { attempt: 3, wait: 300 },
    ])
    expect(attempts.map(({ patience }) => patience)).toEqual([10_000, 10_000, 10_000, 10_000])
  })

  it('go on where a connection held for a moment only', () => {
    const { dialler, fail, hold, waits } = lay(['mqtt://a', 'mqtt://b'])
    dialler.start()
    for (let i = 0; i < 4; i++) {
      hold(HELD - 1)
      fail(true)
    }
    expect(waits.map(({ wait }) => wait)).toEqual([50, 75, 50, 150])
  })

  it('end when there are no credentials: no other address has any', async () => {
    const credentials = vi.fn(() => Promise.reject(new Error('none')))
    const { dialler, waits } = lay(THREE, { credentials })
    dialler.start()
    await vi.waitFor(() => expect(waits).toEqual([{ attempt: 1, wait: 75 }]))
    expect(credentials).toHaveBeenCalledTimes(1)
  })
})

describe('a connection that held', () => {
  it('is looked for where it was, with its session, and then elsewhere, without one', () => {
    const { dialler, fail, hold, waits, attempts, urls } = lay(THREE)
    dialler.start()
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

  it('is looked for elsewhere at once when its broker sent us away', () => {
    const { dialler, fail, hold, urls } = lay(THREE)
    dialler.start()
    hold()
    fail(false)
    expect(urls()[1]).not.toBe(urls()[0])
  })

  it('is kept where it was found, and an old session of another broker is not taken up again', () => {
    const { dialler, fail, hold, attempts, urls } = lay(['mqtt://a', 'mqtt://b'])
    dialler.start()
    hold()
    fail(false)
    hold()
    fail(true)
    fail()
    const [home, other] = urls()
    expect(urls()).toEqual([home, other, other, home])
    expect(attempts.map(({ clean }) => clean)).toEqual([false, true, false, true])
  })

  it('comes back to its session if no other broker took it meanwhile', () => {
    const { dialler, fail, hold, attempts } = lay(['mqtt://a', 'mqtt://b'])
    dialler.start()
    hold()
    fail(false)
    fail()
    expect(attempts.map(({ clean }) => clean)).toEqual([false, true, false])
  })

  it('begins the count anew', () => {
    const { dialler, fail, hold, waits } = lay(['mqtt://a', 'mqtt://b'])
    dialler.start()
    for (let i = 0; i < 4; i++) fail()
    hold()
    fail(true)
    expect(waits.at(-1)).toEqual({ attempt: 1, wait: 50 })
  })
})

describe('a broker that sends us elsewhere', () => {
  it('is obeyed, and costs one attempt of the round', () => {
    const { dialler, fail, gaveUp, hold, waits, urls } = lay(['mqtt://a'], { followReferences: true })
    dialler.start()
    hold()
    fail(false, { reasonCode: 156, serverReference: 'b' })
    fail(false, { reasonCode: 157, serverReference: 'a' })
    expect(gaveUp).toEqual([])
    expect(urls()).toEqual(['mqtt://a', 'mqtt://b', 'mqtt://a'])
    expect(waits.map(({ wait }) => wait)).toEqual([50, 75])
  })

  it('leaves nowhere to go if there is one address and no other is allowed', () => {
    for (const reasonCode of [156, 157]) {
      expect(lay(['mqtt://a']).isFatal({ reasonCode, serverReference: 'b' })).toBe(true)
      expect(lay(['mqtt://a', 'mqtt://b']).isFatal({ reasonCode })).toBe(false)
    }
  })
})

describe('a connection that is to be persistent', () => {
  it('comes back whatever the broker says when it ends it, but for another client or another broker', () => {
    const { isFatal } = lay(['mqtt://a'], { isPersistent: true })
    const codes = [130, 135, 142, 144, 157]
    expect(codes.map(reasonCode => isFatal({ reasonCode }))).toEqual([false, false, true, false, true])
    expect(codes.map(reasonCode => isFatal({ reasonCode, wasConnected: false }))).toEqual(codes.map(() => true))
  })
})

describe('a session that is given up', () => {
  it('is followed at once by a new one, and the next one is kept again', () => {
    const { dialler, fail, attempts, waits } = lay(['mqtt://a'])
    dialler.start()
    dialler.connected()
    dialler.startNewSession()
    fail()
    expect([attempts.at(-1)?.clean, waits.at(-1)?.wait]).toEqual([true, 0])
    fail()
    expect([attempts.at(-1)?.clean, waits.at(-1)?.wait]).toEqual([true, 75])
    dialler.connected()
    fail()
    expect(attempts.at(-1)?.clean).toBe(false)
  })
})
