import { describe, expect, it } from 'vitest'
import { ClientStateMachine } from '../../../src/pubsub/client/client-state-machine.js'
import type { Action, MachineEvent, MachineSettings, SendRequest } from '../../../src/pubsub/client/events.js'
import { jsonClientCodec } from '../../../src/pubsub/wire/json-client-codec.js'

const SETTINGS: MachineSettings = {
  codec: jsonClientCodec,
  recoveryWindow: 60_000,
  connectTimeout: 10_000,
  keepAlive: 40_000,
  maxQueued: 100,
  retries: 3,
  timeout: 90_000,
  pause: attempt => attempt * 1_000,
  recoveryPause: attempt => attempt * 1_000,
  reconnectStrategy: attempt => (attempt - 1) * 1_000,
  bufferedBytes: () => 0,
}

const URL = 'wss://h/client/hubs/a'
const RECOVERY = `${URL}?awps_connection_id=c&awps_reconnection_token=t`
const PING = '{"type":"ping"}'
/** The probe for a hub that has never answered a ping. */
const alive = (ackId: number): string => `{"type":"leaveGroup","group":"rx-statestore:alive","ackId":${ackId}}`

const REQUEST: SendRequest = {
  frame: { type: 'event', event: 'e', payload: { dataType: 'json', data: 1 } },
  ack: true,
  timeout: 5_000,
  atLeastOnce: false,
}
const JOIN = '{"type":"joinGroup","group":"g","ackId":2}'
const SEQUENCE_ACK = '{"type":"sequenceAck","sequenceId":1}'
const SENT = '{"type":"event","event":"e","ackId":1,"dataType":"json","data":1}'

/** The hub's frames, by name. */
const FRAMES: Readonly<Record<string, string>> = {
  hello: '{"type":"system","event":"connected","connectionId":"c","reconnectionToken":"t"}',
  pong: '{"type":"pong"}',
  ack: '{"type":"ack","ackId":1,"success":true}',
  busy: '{"type":"ack","ackId":1,"success":false,"error":{"name":"InternalServerError","message":""}}',
  message: '{"type":"message","from":"server","dataType":"json","data":7,"sequenceId":1}',
}

/** Parses an event of the tables, in which a number is the number of the link. */
function eventOf(text: string): MachineEvent {
  const [type = '', link = '', code = ''] = text.split(' ')
  const at = { link: Number(link) }
  switch (type) {
    case 'url':
      return { type, ...at, url: URL }
    case 'noUrl':
      return { type: 'urlFailed', ...at, error: new Error('none') }
    case 'opened':
      return { type, ...at }
    case 'closed':
      return { type, ...at, code: Number(code), reason: '' }
    case 'send':
    case 'forget':
      return { type, request: REQUEST }
    case 'join':
      return { type, group: 'g', member: REQUEST }
    case 'leave':
      return { type, group: 'g' }
    case 'start':
    case 'close':
    case 'tick':
    case 'woke':
      return { type }
    default:
      return { type: 'received', ...at, data: FRAMES[type] ?? type }
  }
}

function shown(action: Action): string {
  switch (action.type) {
    case 'fetchUrl':
      return `fetchUrl ${action.link}`
    case 'open':
      return `open ${action.link} ${action.url}`
    case 'transmit':
      return String(action.data)
    case 'close':
      return `close ${action.code ?? ''}`.trim()
    case 'status':
      return action.status.state
    case 'settled':
      return action.outcome.ok ? 'settled' : `failed ${action.outcome.error.code}`
    default:
      return action.type
  }
}

type Step = readonly [at: number, event: string, actions: readonly string[], deadline?: number | undefined]

const CONNECTED: readonly Step[] = [
  [0, 'start', ['connecting', 'fetchUrl 1'], 10_000],
  [1, 'url 1', [`open 1 ${URL}`], 10_000],
  [2, 'opened 1', [], 10_000],
  [3, 'hello 1', ['connected'], 20_003],
]

/** Runs of a machine. Each table has the time, the event, the resulting actions and the next deadline. */
const LIVES: Readonly<Record<string, readonly Step[]>> = {
  'connects, pings a silent link, drops the link and recovers': [
    ...CONNECTED,
    [20_002, 'tick', [], 20_003],
    [20_003, 'tick', [PING, alive(1)], 40_003],
    [30_000, 'pong 1', [], 50_000],
    [50_000, 'tick', [PING], 70_000],
    [70_000, 'tick', ['close', 'recovering', `open 2 ${RECOVERY}`], 74_000],
    [70_001, 'pong 1', []],
    [70_100, 'opened 2', [alive(2)], 90_100],
    [70_200, 'pong 2', ['connected'], 90_200],
  ],
  'ignores a late event of an earlier link': [
    ...CONNECTED,
    [6_000, 'closed 1 1006', ['recovering', `open 2 ${RECOVERY}`]],
    [6_001, 'closed 1 1008', []],
    [6_002, 'opened 1', []],
    [6_003, 'hello 1', []],
    [6_004, 'url 1', []],
    [6_005, 'noUrl 1', []],
    [6_006, 'closed 2 1008', ['disconnected', 'connecting', 'fetchUrl 3']],
    [6_007, 'closed 2 1006', []],
  ],
  'tries to recover until the window ends': [
    ...CONNECTED,
    [6_000, 'closed 1 1006', ['recovering', `open 2 ${RECOVERY}`], 10_000],
    [6_100, 'closed 2 1006', ['recovering'], 7_100],
    [7_099, 'tick', [], 7_100],
    [7_100, 'tick', [`open 3 ${RECOVERY}`], 11_100],
    [11_100, 'tick', ['close', 'recovering'], 13_100],
    [66_000, 'tick', ['disconnected', 'connecting', 'fetchUrl 4'], 76_000],
  ],
  'requests a URL again after a failure': [
    [0, 'start', ['connecting', 'fetchUrl 1'], 10_000],
    [5, 'noUrl 1', ['disconnected'], 1_005],
    [1_005, 'tick', ['connecting', 'fetchUrl 2'], 11_005],
    [11_005, 'tick', ['disconnected'], 13_005],
    [13_005, 'tick', ['connecting', 'fetchUrl 3'], 23_005],
  ],
  'sends joins first, acknowledges messages, and resends unanswered requests after a recovery': [
    [0, 'send', [], 5_000],
    [0, 'join', []],
    [0, 'start', ['connecting', 'fetchUrl 1']],
    [1, 'url 1', [`open 1 ${URL}`]],
    [2, 'opened 1', []],
    [3, 'hello 1', ['connected', JOIN, SENT], 5_000],
    [4, 'message 1', ['serverMessage'], 1_004],
    [1_004, 'tick', [SEQUENCE_ACK], 5_000],
    [2_000, 'closed 1 1006', ['recovering', `open 2 ${RECOVERY}`], 5_000],
    [2_001, 'opened 2', [alive(3)]],
    [2_002, 'pong 2', ['connected', JOIN, SENT, SEQUENCE_ACK]],
    [2_003, 'message 2', []],
    [2_004, 'ack 2', ['settled']],
    [2_005, 'ack 2', []],
    [3_003, 'tick', [SEQUENCE_ACK]],
  ],
  'resends a request that the hub could not process': [
    ...CONNECTED,
    [10, 'send', [SENT], 5_010],
    [20, 'busy 1', [], 1_020],
    [1_019, 'tick', []],
    [1_020, 'tick', [SENT], 5_010],
    [1_030, 'busy 1', [], 3_030],
    [3_030, 'tick', [SENT], 5_010],
    [5_010, 'tick', ['failed outcome-unknown']],
    [5_011, 'ack 1', []],
  ],
  'drops a send that is no longer awaited': [
    ...CONNECTED,
    [10, 'send', [SENT], 5_010],
    [11, 'forget', [], 20_003],
    [12, 'forget', []],
    [13, 'closed 1 1006', ['recovering', `open 2 ${RECOVERY}`]],
    [14, 'opened 2', [alive(2)]],
    [15, 'pong 2', ['connected']],
  ],
  'probes the link immediately after computer sleep': [
    ...CONNECTED,
    [10_000, 'woke', [PING, alive(1)], 30_000],
    [30_000, 'tick', ['close', 'recovering', `open 2 ${RECOVERY}`]],
    [30_001, 'closed 2 1006', ['recovering'], 31_001],
    [30_002, 'woke', [`open 3 ${RECOVERY}`]],
  ],
  'closes once, and does nothing afterwards': [
    ...CONNECTED,
    [10, 'send', [SENT]],
    [20, 'close', ['close 1000', 'failed outcome-unknown', 'stopped'], Number.POSITIVE_INFINITY],
    [21, 'close', []],
    [22, 'start', []],
    [23, 'closed 1 1000', []],
    [24, 'message 1', []],
    [25, 'send', ['failed closed'], Number.POSITIVE_INFINITY],
    [26, 'tick', []],
    [27, 'woke', []],
  ],
}

describe('the client state machine', () => {
  it.each(Object.entries(LIVES))('the machine returns the actions and deadlines of the table: %s', (_, steps) => {
    const machine = new ClientStateMachine(SETTINGS)
    for (const [now, event, actions, deadline] of steps) {
      expect([now, event, machine.handle(eventOf(event), now).map(shown)]).toEqual([now, event, actions])
      if (deadline !== undefined) expect([now, event, machine.deadline]).toEqual([now, event, deadline])
    }
  })

  it('a machine has no deadline before it is started', () => {
    expect(new ClientStateMachine(SETTINGS).deadline).toBe(Number.POSITIVE_INFINITY)
  })

  it('a tick before the deadline has no effect', () => {
    const machine = new ClientStateMachine(SETTINGS)
    for (const [now, event] of CONNECTED) machine.handle(eventOf(event), now)
    for (let now = 4; now < 20_000; now += 13) expect(machine.handle({ type: 'tick' }, now)).toEqual([])
  })
})
