import { beforeEach, describe, expect, it } from 'vitest'
import { START } from '../../support/manual-clock.js'
import { FakeSetting, URL } from '../support/fake-socket-client.js'

let setting: FakeSetting

beforeEach(() => {
  setting = new FakeSetting()
})

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve()
}

describe('connecting', () => {
  it('the client offers only the reliable subprotocol at the URL', () => {
    expect(setting.socket).toMatchObject({ url: URL, subprotocol: 'json.reliable.webpubsub.azure.v1' })
  })

  it('the status is connected after the first frame, not when the socket opens', () => {
    setting.socket.accept()
    expect(setting.states).toEqual(['connecting'])
    setting.socket.greet('c1', 't1')
    expect(setting.statuses).toEqual([
      { state: 'connecting' },
      { state: 'connected', connectionId: 'c1', userId: 'ann' },
    ])
  })

  it('a late subscriber receives the latest status', () => {
    setting.connect()
    setting.client.status$.subscribe(setting.observer('late'))
    expect(setting.log).toEqual(['late: {"state":"connected","connectionId":"c1","userId":"ann"}'])
  })

  it('an attempt with a hanging handshake is abandoned', () => {
    setting.clock.advance(9_999)
    expect(setting.socket.closings).toEqual([])
    setting.clock.advance(1)
    expect(setting.socket.closings).toEqual([-1])
    expect(setting.status).toEqual({
      state: 'disconnected',
      code: undefined,
      reason: expect.stringContaining('stopped responding'),
      retryAt: START + 11_000,
      attempt: 2,
    })
  })

  it('an attempt whose URL function never returns is abandoned with a reason that names it', () => {
    const hanging = new FakeSetting({ url: () => new Promise(() => undefined) })
    hanging.clock.advance(10_000)
    expect(hanging.status).toMatchObject({ state: 'disconnected', reason: 'The URL function did not return in time' })
  })

  it('an attempt without a first frame is abandoned', () => {
    setting.clock.advance(5_000)
    setting.socket.accept()
    setting.clock.advance(5_000)
    expect(setting.status).toMatchObject({ state: 'disconnected' })
  })

  it('frames of an abandoned socket are ignored', () => {
    setting.clock.advance(10_000)
    setting.socket.accept().greet()
    expect(setting.states).toEqual(['connecting', 'disconnected'])
  })

  it('attempts continue indefinitely, and the delays grow', () => {
    const pauses: number[] = []
    for (let attempt = 1; attempt <= 20; attempt++) {
      setting.socket.drop(1006, 'Unexpected server response: 502')
      const { status } = setting
      if (status?.state === 'disconnected') pauses.push(status.retryAt - setting.clock.now())
      setting.clock.advance(attempt * 1_000)
    }
    expect(pauses).toEqual(Array.from({ length: 20 }, (_, i) => (i + 1) * 1_000))
    expect(setting.network.count).toBe(21)
  })

  it('the status contains the close code and the close reason', () => {
    setting.socket.accept().drop(1013, 'try again later')
    expect(setting.status).toMatchObject({ state: 'disconnected', code: 1013, reason: 'try again later' })
  })

  it('a close without a reason is reported with the reason of the `disconnected` frame', () => {
    setting.socket.accept().receive({ type: 'system', event: 'disconnected', message: 'too many connections' })
    setting.socket.drop(1000)
    expect(setting.status).toMatchObject({ code: 1000, reason: 'too many connections' })
    setting.clock.advance(1_000)
    setting.socket.drop(1006)
    expect(setting.status).toMatchObject({ code: 1006, reason: '' })
  })
})

describe('a reconnect strategy', () => {
  it('a strategy that returns false stops the client with the cause', () => {
    setting = new FakeSetting({ reconnectStrategy: () => false })
    setting.client.group('line').messages$.subscribe(setting.observer('messages'))
    setting.client.group('line').send(1).subscribe(setting.observer('send'))
    setting.socket.drop(1006, 'refused')
    expect(setting.status).toMatchObject({ state: 'stopped', code: 1006, cause: { code: 'connection-lost' } })
    expect(setting.log).toEqual(['send: closed', 'messages: closed'])
    expect(setting.clock.pending).toBe(0)
  })

  it.each([
    [
      'throws',
      (): number => {
        throw new Error('broken')
      },
    ],
    ['returns no number', (): number => Number.NaN],
    ['returns a negative delay', (): number => -1],
  ])('the client stops if the strategy %s', (_, reconnectStrategy) => {
    setting = new FakeSetting({ reconnectStrategy })
    setting.socket.drop()
    expect(setting.status).toMatchObject({ state: 'stopped', cause: { code: 'argument' } })
  })

  it('the strategy gets the attempt and the cause, and counts from 1 after a stable connection', () => {
    const asked: string[] = []
    setting = new FakeSetting({
      reconnectStrategy: (attempt, cause) => {
        asked.push(`${attempt} ${cause.code}`)
        return 0
      },
    })
    setting.socket.drop()
    setting.connect().socket.drop(1008)
    expect(asked).toEqual(['2 connection-lost', '1 connection-lost'])
  })
})

describe('a URL callback', () => {
  it('the URL is fetched for every new connection, and never for a recovery', async () => {
    let asked = 0
    setting = new FakeSetting({ url: () => `wss://hub.example/client/hubs/h?access_token=${++asked}` })
    await settled()
    setting.connect().recover()
    setting.clock.advance(6_000)
    setting.socket.drop()
    setting.socket.accept().drop(1008)
    await settled()
    expect(setting.network.sockets.map(({ url }) => url)).toEqual([
      'wss://hub.example/client/hubs/h?access_token=1',
      expect.not.stringContaining('access_token'),
      expect.not.stringContaining('access_token'),
      'wss://hub.example/client/hubs/h?access_token=2',
    ])
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('no token')
      },
      'no token',
    ],
    ['rejects', () => Promise.reject(new Error('no token')), 'no token'],
    ['returns no WebSocket URL', () => 'https://hub.example', 'https://hub.example'],
  ])('the URL is fetched again when the callback %s', async (_, url, reason) => {
    setting = new FakeSetting({ url })
    await settled()
    expect(setting.status).toMatchObject({ state: 'disconnected', reason: expect.stringContaining(reason), attempt: 2 })
    setting.clock.advance(1_000)
    await settled()
    expect(setting.status).toMatchObject({ state: 'disconnected', attempt: 3 })
  })

  it('a hanging URL callback is abandoned, and a late result is discarded', async () => {
    let answer: (url: string) => void = () => undefined
    setting = new FakeSetting({
      url: () =>
        new Promise(resolve => {
          answer = resolve
        }),
    })
    await settled()
    setting.clock.advance(10_000)
    const late = answer
    setting.clock.advance(1_000)
    await settled()
    late(URL)
    await settled()
    expect(setting.network.count).toBe(0)
    answer(URL)
    await settled()
    expect(setting.network.count).toBe(1)
  })
})
