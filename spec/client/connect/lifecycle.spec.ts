import { config, firstValueFrom } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import { StateStore } from '../../../src/client/connect/client.js'
import { ConnectionLostError, ConnectionRefusedError, connect, systemClock, text } from '../../../src/client/index.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import { FakeSession } from '../../support/fake-session.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

const real = { clock: systemClock }
const NOTIFY = 'clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/636C69656E742D696431/command/notify/'
const OK = utf8('+OK\r\n')

/** Opens a client on a session that the spec controls. */
function scripted(stopDelay = 0): { session: FakeSession; clock: ManualClock; client: StateStore } {
  const session = new FakeSession()
  const clock = new ManualClock()
  const client = new StateStore(session, { clock, timeout: 10_000, maxQueued: 1_000, stopDelay })
  return { session, clock, client }
}

const commands = (session: FakeSession): string[] =>
  session.published.map(({ request }) => {
    const items = new TextDecoder().decode(request.payload).split('\r\n')
    return [items[2], items[6]].filter(Boolean).join(' ')
  })

describe('closing', () => {
  it('close completes watches, ends registrations and is idempotent', async () => {
    const { store } = await openStore(real)
    const client = openClient(store.url)
    const key = client.key('a', text)
    const seen = record(key.entries$)
    const status = record(client.status$)
    const errors = record(client.errors$)
    await seen.until(({ values }) => values.length === 1)
    await client.close()
    await client.close()
    expect({ seen: seen.completed, status: status.values.at(-1), ended: status.completed && errors.completed }).toEqual(
      {
        seen: true,
        status: { state: 'closed', cause: undefined },
        ended: true,
      },
    )
    expect(store.stats).toMatchObject({ watches: 0 })
    expect(record(key.entries$).completed).toBe(true)
    await expect(firstValueFrom(key.get())).rejects.toMatchObject({ code: 'closed' })
  })

  it('late subscribers of status$ receive closed', async () => {
    const { session, client } = scripted()
    session.connect()
    await client.close()
    expect(record(client.status$)).toMatchObject({ values: [{ state: 'closed', cause: undefined }], completed: true })
  })

  it('close marks live values as stale', async () => {
    const { store } = await openStore(real)
    const clock = new ManualClock()
    const client = openClient(store.url, { clock })
    const known = record(client.key('a', text).freshness$)
    await known.until(({ values }) => values.at(-1)?.state === 'live')
    const read = record(client.key('a', text).freshness$)
    await client.close()
    expect(known.values.at(-1)).toEqual({ state: 'stale', since: clock.now() })
    expect(read).toMatchObject({ values: [{ state: 'live' }, { state: 'stale' }], completed: true })
  })

  it('`await using` closes the client at the end of the block', async () => {
    const { store } = await openStore(real)
    const status: string[] = []
    {
      await using client = connect(store.url)
      client.status$.subscribe(({ state }) => status.push(state))
      await firstValueFrom(client.key('a', text).get())
    }
    expect(status).toEqual(['connecting', 'connected', 'closed'])
  })

  it('close before the first connection fails waiting requests with `closed`', async () => {
    const client = connect('mqtt://127.0.0.1:1', { reconnect: { initial: 60_000 } })
    const read = firstValueFrom(client.key('a', text).get())
    await client.close()
    await expect(read).rejects.toMatchObject({ code: 'closed' })
  })

  it('a closed client leaves no timers', async () => {
    const { store } = await openStore(real)
    const clock = new ManualClock(Date.now())
    const client = openClient(store.url, { clock })
    const seen = record(client.key('a', text).entries$)
    await seen.until(({ values }) => values.length === 1)
    await client.close()
    expect(clock.pending).toBe(0)
  })
})

describe('a permanent end', () => {
  it('watches and status$ report the cause', () => {
    const { session, client } = scripted()
    const seen = record(client.key('a', text).entries$)
    const status = record(client.status$)
    const cause = new ConnectionRefusedError('bad password', 134)
    session.end(cause)
    expect(seen.error).toBe(cause)
    expect(status.values.at(-1)).toEqual({ state: 'closed', cause })
    expect(record(client.key('a', text).entries$).error).toBe(cause)
  })

  it('a connected client ends with `closed` and the cause', () => {
    const { session, client } = scripted()
    session.connect()
    const seen = record(client.key('a', text).entries$)
    const cause = new ConnectionRefusedError('another client took over the id', 142)
    session.end(cause)
    expect(seen.error).toMatchObject({ code: 'closed', cause })
  })

  it('a refused response subscription closes the client', () => {
    const { session, client } = scripted()
    const status = record(client.status$)
    session.granted = [135, 1]
    session.connect()
    expect(status.values.at(-1)).toMatchObject({ state: 'closed', cause: { code: 'request-rejected', status: 135 } })
    expect(session.closed).toBe(1)
  })
})

describe('the order of packets on a connection', () => {
  it('the client sends KEYNOTIFY after SUBACK, and GET after the response to KEYNOTIFY', () => {
    const { session, client } = scripted()
    session.granted = undefined
    const seen = record(client.key('a', text).entries$)
    session.connect()
    expect(session.subscribed).toEqual([
      ['clients/client-id1/services/statestore/_any_/command/invoke/response', `${NOTIFY}+`],
    ])
    expect(commands(session)).toEqual([])
    session.suback()
    expect(commands(session)).toEqual(['KEYNOTIFY'])
    session.reply(session.at(0), OK)
    expect(commands(session)).toEqual(['KEYNOTIFY', 'GET'])
    session.reply(session.at(1), utf8('$1\r\n1\r\n'), { __stat: '200', __ts: '5:0:S' })
    expect(seen.values).toMatchObject([{ op: 'set', value: '1', source: 'snapshot' }])
  })

  it('the next connection carries the same packets in order, even in a resumed session', () => {
    const { session, client } = scripted()
    record(client.key('a', text).entries$)
    session.connect()
    session.disconnect(new ConnectionLostError())
    session.connect({ sessionPresent: true })
    expect(session.subscribed).toHaveLength(2)
    expect(commands(session)).toEqual(['KEYNOTIFY', 'KEYNOTIFY'])
  })

  it('reads and writes succeed when the notification subscription is refused, and watches fail', () => {
    const { session, client } = scripted()
    session.granted = [1, 135]
    const seen = record(client.key('a', text).entries$)
    session.connect()
    expect(seen.error).toMatchObject({ code: 'request-rejected', status: 135 })
    record(client.key('a', text).get())
    expect(commands(session)).toEqual(['GET'])
  })
})

describe('a watch', () => {
  it('outlives its last subscriber by the stop delay', () => {
    const { session, clock, client } = scripted(1_000)
    session.connect()
    const key = client.key('a', text)
    record(key.entries$).unsubscribe()
    clock.advance(999)
    const again = record(key.entries$)
    clock.advance(5_000)
    expect(commands(session)).toEqual(['KEYNOTIFY'])
    again.unsubscribe()
    clock.advance(1_000)
    expect(commands(session)).toEqual(['KEYNOTIFY', 'KEYNOTIFY STOP'])
  })

  it('the client does not repeat a STOP on the next connection', () => {
    const { session, client } = scripted()
    session.connect({ receiveMaximum: 1 })
    const key = client.key('a', text)
    record(key.entries$).unsubscribe()
    session.disconnect(new ConnectionLostError())
    record(key.entries$)
    session.connect()
    expect(commands(session)).toEqual(['KEYNOTIFY', 'KEYNOTIFY'])
  })

  it('the client sends a STOP that gets invalid responses at most eight times', () => {
    const { session, clock, client } = scripted()
    session.connect()
    record(client.key('a', text).entries$).unsubscribe()
    for (let attempt = 1; attempt < 20; attempt++) {
      session.reply(session.at(-1), utf8('!'))
      clock.advance(30_000)
    }
    expect(commands(session)).toEqual(['KEYNOTIFY', ...Array.from({ length: 8 }, () => 'KEYNOTIFY STOP')])
    expect(clock.pending).toBe(0)
  })

  it('the client does not retry a STOP while the registration is needed', () => {
    const { session, clock, client } = scripted()
    session.connect()
    const key = client.key('a', text)
    record(key.entries$).unsubscribe()
    session.reply(session.at(-1), utf8('!'))
    const again = record(key.entries$)
    session.reply(session.at(-1), OK)
    clock.advance(9_000)
    expect(commands(session)).toEqual(['KEYNOTIFY', 'KEYNOTIFY STOP', 'KEYNOTIFY', 'GET'])
    again.unsubscribe()
    record(key.entries$)
    session.reply(session.at(-2), utf8('!'))
    clock.advance(9_000)
    expect(commands(session).slice(4)).toEqual(['KEYNOTIFY STOP', 'KEYNOTIFY'])
  })

  it('a registration in use survives the failed STOPs of earlier watches', () => {
    const { session, clock, client } = scripted()
    session.connect()
    const key = client.key('a', text)
    record(key.entries$).unsubscribe()
    record(key.entries$).unsubscribe()
    expect(commands(session)).toEqual(['KEYNOTIFY', 'KEYNOTIFY STOP', 'KEYNOTIFY', 'KEYNOTIFY STOP'])
    for (const place of [1, 3]) session.reply(session.at(place), utf8('!'))
    record(key.entries$)
    clock.advance(9_000)
    expect(commands(session).slice(4)).toEqual(['KEYNOTIFY'])
  })

  it('retries requests that timed out', () => {
    const { session, clock, client } = scripted()
    const seen = record(client.key('a', text).entries$)
    session.connect()
    clock.advance(10_000)
    clock.advance(200)
    expect(commands(session)).toEqual(['KEYNOTIFY', 'KEYNOTIFY'])
    session.reply(session.at(1), OK)
    clock.advance(10_000)
    clock.advance(200)
    expect(commands(session).slice(2)).toEqual(['GET', 'GET'])
    session.reply(session.at(3), utf8('$-1\r\n'))
    expect(seen.values).toMatchObject([{ op: 'absent' }])
    expect(clock.pending).toBe(0)
  })

  it('survives clock skew and reports the skew', () => {
    const { session, clock, client } = scripted()
    const errors = record(client.errors$)
    const seen = record(client.key('a', text).entries$)
    session.connect()
    session.reply(
      session.at(0),
      utf8(
        '-ERR the request timestamp is too far in the future; ensure that the client and broker system clocks are synchronized\r\n',
      ),
    )
    clock.advance(200)
    expect({ commands: commands(session), error: seen.error }).toEqual({
      commands: ['KEYNOTIFY', 'KEYNOTIFY'],
      error: undefined,
    })
    expect(errors.values).toMatchObject([{ code: 'clock-skew' }])
  })

  it('a rejected watch errors and can be subscribed again', () => {
    const { session, client } = scripted()
    const key = client.key('a', text)
    const seen = record(key.entries$)
    session.connect()
    session.reply(session.at(0), utf8('-ERR not authorized\r\n'))
    expect(seen.error).toMatchObject({ code: 'not-authorized', key: 'a' })
    record(key.entries$)
    expect(commands(session).slice(-1)).toEqual(['KEYNOTIFY'])
  })

  it('the client sends at most 256 requests for keys concurrently', () => {
    const { session, client } = scripted()
    for (let i = 0; i < 300; i++) record(client.key(`k${i}`, text).entries$)
    session.connect()
    expect(session.published).toHaveLength(256)
    session.reply(session.at(0), OK)
    expect(session.published).toHaveLength(257)
  })
})

describe('malformed notifications', () => {
  it('the client reports malformed notifications and still emits valid ones', () => {
    const { session, client } = scripted()
    const errors = record(client.errors$)
    const seen = record(client.key('a', text).entries$)
    session.connect()
    session.reply(session.at(0), OK)
    session.reply(session.at(1), utf8('$-1\r\n'), { __stat: '200', __pos: '4:0:S' })
    session.receive(`${NOTIFY}61`, utf8('*2\r\n$6\r\nNOTIFY\r\n'), { __ts: '5:0:S' })
    session.receive(`${NOTIFY}61`, utf8('*2\r\n$6\r\nNOTIFY\r\n$6\r\nRENAME\r\n'), { __ts: '5:0:S' })
    session.receive(`${NOTIFY}61`, utf8('*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\nx\r\n'), {
      __ts: 'now',
    })
    session.receive(`${NOTIFY}nothex`, utf8('*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n'))
    session.receive(`${NOTIFY}62`, utf8('*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n'))
    session.receive('something/else', utf8('x'))
    session.receive(`${NOTIFY}61`, utf8('*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\ny\r\n'), {
      __ts: '6:0:S',
    })
    expect(errors.values.map(({ code }) => code)).toEqual(['payload', 'payload', 'payload', 'payload'])
    expect(seen.values.map(({ value }) => value)).toEqual([undefined, 'y'])
  })
})

describe('a malformed notification', () => {
  it('causes a read of the key', () => {
    const { session, client } = scripted()
    const seen = record(client.key('a', text).entries$)
    session.connect()
    session.reply(session.at(0), OK)
    session.reply(session.at(1), utf8('$1\r\nx\r\n'), { __stat: '200', __ts: '4:0:S' })
    session.receive(`${NOTIFY}61`, utf8('*2\r\n$6\r\nNOTIFY\r\n'), { __ts: '5:0:S' })
    expect(commands(session)).toEqual(['KEYNOTIFY', 'GET', 'GET'])
    session.reply(session.at(2), utf8('$1\r\ny\r\n'), { __stat: '200', __ts: '5:0:S' })
    expect(seen.values.map(({ value }) => value)).toEqual(['x', 'y'])
  })
})

describe('a subscriber that throws', () => {
  const uncaught: unknown[] = []
  const { onUnhandledError } = config
  afterEach(() => {
    config.onUnhandledError = onUnhandledError
    uncaught.length = 0
  })

  it('a throwing subscriber affects neither the connection nor other subscribers', async () => {
    config.onUnhandledError = error => uncaught.push(error)
    const { store } = await openStore(real)
    const key = openClient(store.url).key('a', text)
    key.value$.subscribe(() => {
      throw new Error('of the subscriber')
    })
    const seen = record(key.value$)
    await seen.until(({ values }) => values.length === 1)
    await firstValueFrom(key.set('x'))
    await seen.until(({ values }) => values.length === 2)
    expect(seen.values).toEqual([undefined, 'x'])
    await expect.poll(() => uncaught).toHaveLength(2)
  })
})
