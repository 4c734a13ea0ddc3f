import type { Clock } from '../clock.js'
import type { Change, Engine } from '../engine/engine.js'
import { PROPERTY, PROTOCOL_VERSION, STATUS } from '../protocol/properties.js'
import { type Dialect, encodeReply, type Reply } from '../protocol/replies.js'

/** MQTT user properties; a name that came more than once has an array. */
export type UserProperties = Readonly<Record<string, string | readonly string[]>>

/** What the service needs of a PUBLISH to the invoke topic. */
export interface InvokeRequest {
  readonly qos: number
  readonly payload: Uint8Array
  readonly userProperties: UserProperties
}

/** A response, and the changes to tell to watchers. */
export interface InvokeResponse {
  readonly payload: Uint8Array
  readonly userProperties: Readonly<Record<string, string>>
  readonly changes: readonly Change[]
  /** What the engine said; `undefined` when the request was refused before it got there. */
  readonly reply: Reply | undefined
}

const NOTHING = new Uint8Array(0)

/**
 * The RPC side of the state store: properties in, properties out, the engine between.
 * Sources: state store protocol, "System topic, QoS and required properties"; the `__` properties are those of the
 * official clients.
 */
export class StateStoreService<C> {
  readonly #engine: Engine<C>
  readonly #clock: Pick<Clock, 'now'>
  readonly #dialect: Dialect

  constructor(engine: Engine<C>, clock: Pick<Clock, 'now'>, dialect: Dialect) {
    this.#engine = engine
    this.#clock = clock
    this.#dialect = dialect
  }

  /** Answers a request of a connection. */
  handle(request: InvokeRequest, connection: C): InvokeResponse {
    const { userProperties } = request
    if (request.qos !== 1) return badRequest('a request must be published with QoS 1', 'QoS', String(request.qos))
    const version = single(userProperties[PROPERTY.protocolVersion]) ?? PROTOCOL_VERSION
    if (version !== PROTOCOL_VERSION && !/^1\.\d+$/.test(version)) return wrongVersion(version)
    const answer = this.#engine.handle(
      {
        payload: request.payload,
        timestamp: single(userProperties[PROPERTY.timestamp]),
        fencingToken: single(userProperties[PROPERTY.fencingToken]),
      },
      connection,
      this.#clock.now(),
    )
    return {
      payload: encodeReply(answer.reply, this.#dialect),
      userProperties: answer.version === undefined ? ANSWERED : answeredWith(String(answer.version)),
      changes: answer.changes,
      reply: answer.reply,
    }
  }
}

const envelope = (status: number): Record<string, string> => ({
  [PROPERTY.status]: String(status),
  [PROPERTY.protocolVersion]: PROTOCOL_VERSION,
  [PROPERTY.sourceId]: 'StateStore',
})

const ANSWERED = envelope(STATUS.ok)

// Written out: it is done for every request.
const answeredWith = (version: string): Record<string, string> => ({
  [PROPERTY.timestamp]: version,
  [PROPERTY.status]: '200',
  [PROPERTY.protocolVersion]: PROTOCOL_VERSION,
  [PROPERTY.sourceId]: 'StateStore',
})

const refusal = (status: number, properties: Record<string, string>): InvokeResponse => ({
  payload: NOTHING,
  userProperties: { ...envelope(status), ...properties },
  changes: [],
  reply: undefined,
})

const badRequest = (message: string, property: string, value: string): InvokeResponse =>
  refusal(STATUS.badRequest, {
    [PROPERTY.statusMessage]: message,
    [PROPERTY.invalidProperty]: property,
    [PROPERTY.invalidValue]: value,
  })

const wrongVersion = (version: string): InvokeResponse =>
  refusal(STATUS.versionNotSupported, {
    [PROPERTY.statusMessage]: `protocol version ${version.slice(0, 40)} is not supported`,
    [PROPERTY.supportedMajorVersions]: '1',
    [PROPERTY.requestVersion]: version.slice(0, 40),
  })

// A repeated property has no meaning; joined, it is malformed where a form is asked for.
const single = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'object' ? value.join(',') : value
