import type { Incoming, PropertiesByName } from '../../core/mqtt5/packets.js'
import { CommandError, isWrite, parseCommand } from '../../core/protocol/parse-command.js'
import { PROPERTY, PROTOCOL_VERSION, STATUS } from '../../core/protocol/properties.js'
import { type Dialect, encodeReply, type Reply } from '../../core/protocol/replies.js'
import { type Change, type CommandResult, type Query, refusal } from '../engine/command-result.js'
import type { Engine } from '../engine/engine.js'
import type { Owner, Write } from '../engine/entry.js'
import type { LogFailure } from '../log/log.js'

/** A PUBLISH to the invoke topic. */
export type InvokeRequest = Omit<Incoming, 'topic'>

/** Whether a key that is set is not to outlive this start of the store. */
export type VolatileRule = (key: Uint8Array, userProperties: PropertiesByName) => boolean

/** A response, and the changes to tell to watchers. */
export interface InvokeResponse {
  readonly payload: Uint8Array
  readonly userProperties: Readonly<Record<string, string>>
  /** Those of every answer. */
  readonly commonProperties: Readonly<Record<string, string>>
  readonly changes: readonly Change[]
  /** What the engine said; `undefined` when the request was refused before it got there. */
  readonly reply: Reply | undefined
  /** What it took; see {@link CommandResult.work}. */
  readonly work?: number | undefined
  /** Whether it was given before, to the same request. */
  readonly repeated?: true | undefined
}

/** What a request asks for, ready for its turn. */
export type ParsedRequest =
  /** It may change a record, and its client may do so. */
  | Write
  | (Query & { readonly type: 'read' })
  /** It asks for what cannot or may not be done. */
  | { readonly type: 'rejected'; readonly response: InvokeResponse }

/** What a {@link RequestProcessor} works with. */
export interface ServiceParts<C> {
  readonly engine: Engine<C>
  readonly dialect: Dialect
  /** Which keys are not to outlive this start of the store; default none. */
  readonly isVolatile?: VolatileRule | undefined
  /** To whose quota of keys a connection writes; default nobody's. */
  ownerOf?(connection: C): Owner | undefined
}

const NOTHING = new Uint8Array(0)

/**
 * The RPC side of the state store: properties in, properties out, the engine between.
 * Sources: state store protocol, "System topic, QoS and required properties"; the `__` properties are those of the
 * official clients.
 */
export class RequestProcessor<C extends { readonly clientId: string }> {
  readonly #engine: Engine<C>
  readonly #dialect: Dialect
  readonly #isVolatile: VolatileRule | undefined
  readonly #ownerOf: (connection: C) => Owner | undefined

  constructor({ engine, dialect, isVolatile, ownerOf = () => undefined }: ServiceParts<C>) {
    this.#engine = engine
    this.#dialect = dialect
    this.#isVolatile = isVolatile
    this.#ownerOf = ownerOf
  }

  /** What a request of a connection asks for. Whether a read may be done is found out in its turn. */
  parse(request: InvokeRequest, connection: C): ParsedRequest {
    const response = rejectionOf(request)
    if (response !== undefined) return { type: 'rejected', response }
    const { payload, correlationData, messageExpiry, dup = false, userProperties } = request
    try {
      const command = parseCommand(payload)
      const timestamp = single(userProperties[PROPERTY.timestamp])
      const fencingToken = single(userProperties[PROPERTY.fencingToken])
      if (!isWrite(command)) return { type: 'read', command, timestamp, fencingToken }
      if (!this.#engine.allows(connection, command)) throw new CommandError('not-authorized')
      const origin = correlationData && { clientId: connection.clientId, correlationData, dup, messageExpiry }
      const volatile = command.verb === 'SET' && this.#isVolatile?.(command.key, userProperties) ? true : undefined
      const owner = this.#ownerOf(connection)
      return { type: 'write', payload, timestamp, fencingToken, command, origin, volatile, owner }
    } catch (error) {
      return { type: 'rejected', response: this.respond(refusal(error)) }
    }
  }
  /** Answers a request that changes no record, at wall time `now` (ms). */
  ask(query: Query, connection: C, now: number): InvokeResponse {
    return this.respond(this.#engine.ask(query, connection, now))
  }

  /** The response with an answer of the engine. */
  respond(answer: CommandResult): InvokeResponse {
    return {
      payload: encodeReply(answer.reply, this.#dialect),
      userProperties: propertiesOf(answer),
      commonProperties: ANSWERED,
      changes: answer.changes,
      reply: answer.reply,
      work: answer.work,
      repeated: answer.repeated,
    }
  }

  /** The response when the log did not take a request. */
  failed({ problem }: Pick<LogFailure, 'problem'>): InvokeResponse {
    if (problem === 'broken') return UNAVAILABLE
    if (problem === 'closed') return STOPPING
    if (problem === 'unavailable') return AWAY
    return this.respond({ reply: { type: 'error', code: 'quota-exceeded' }, version: undefined, changes: [] })
  }
}

const envelope = (status: number): Record<string, string> => ({
  [PROPERTY.status]: String(status),
  [PROPERTY.protocolVersion]: PROTOCOL_VERSION,
  [PROPERTY.sourceId]: 'StateStore',
  [PROPERTY.highPriority]: '',
})

const ANSWERED = envelope(STATUS.ok)

const NO_PROPERTIES: Readonly<Record<string, string>> = Object.freeze({})

function propertiesOf({ version, position }: CommandResult): Readonly<Record<string, string>> {
  if (version !== undefined) return { [PROPERTY.timestamp]: String(version) }
  return position === undefined ? NO_PROPERTIES : { [PROPERTY.position]: String(position) }
}

const rejection = (status: number, properties: Record<string, string>): InvokeResponse => ({
  payload: NOTHING,
  userProperties: properties,
  commonProperties: envelope(status),
  changes: [],
  reply: undefined,
})

const UNAVAILABLE = rejection(STATUS.unavailable, {
  [PROPERTY.statusMessage]: 'the store cannot write to its disk; nothing was changed as far as it knows',
})

const STOPPING = rejection(STATUS.unavailable, {
  [PROPERTY.statusMessage]: 'the store is being stopped; nothing was changed',
})

const AWAY = rejection(STATUS.unavailable, {
  [PROPERTY.statusMessage]: 'the store cannot reach the log that its nodes share; nothing was changed',
})

/** Why the service does not look at a request, if so. */
function rejectionOf({ qos, userProperties }: InvokeRequest): InvokeResponse | undefined {
  if (qos !== 1) return badRequest('a request must be published with QoS 1', 'QoS', String(qos))
  const version = single(userProperties[PROPERTY.protocolVersion]) ?? PROTOCOL_VERSION
  return version !== PROTOCOL_VERSION && !/^1\.\d+$/.test(version) ? wrongVersion(version) : undefined
}

const badRequest = (message: string, property: string, value: string): InvokeResponse =>
  rejection(STATUS.badRequest, {
    [PROPERTY.statusMessage]: message,
    [PROPERTY.invalidProperty]: property,
    [PROPERTY.invalidValue]: value,
  })

const wrongVersion = (version: string): InvokeResponse =>
  rejection(STATUS.versionNotSupported, {
    [PROPERTY.statusMessage]: `protocol version ${version.slice(0, 40)} is not supported`,
    [PROPERTY.supportedMajorVersions]: '1',
    [PROPERTY.requestVersion]: version.slice(0, 40),
  })

/** Whether a request asks for its key to be kept on disk. */
export const asksToPersist = (userProperties: PropertiesByName): boolean =>
  single(userProperties[PROPERTY.persist]) === 'true'

// A repeated property has no meaning; joined, it is malformed where a form is asked for.
const single = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'object' ? value.join(',') : value
