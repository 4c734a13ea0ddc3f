import type { Incoming, PropertiesByName } from '../../core/mqtt5/packets.js'
import type { Command } from '../../core/protocol/commands.js'
import { CommandError, isWrite, parseCommand } from '../../core/protocol/parse-command.js'
import { PROPERTY, PROTOCOL_VERSION, STATUS } from '../../core/protocol/properties.js'
import { type Dialect, encodeReply, type Reply } from '../../core/protocol/replies.js'
import { type CommandResult, errorResult, type KeyChange, type Query } from '../engine/command-result.js'
import type { Engine } from '../engine/engine.js'
import type { LoggedWrite, Owner } from '../engine/entry.js'
import type { LogFailure } from '../log/log.js'

export type InvokeRequest = Omit<Incoming, 'topic'>

/** Returns whether a SET creates a volatile key, which a restart deletes. */
export type VolatileRule = (key: Uint8Array, userProperties: PropertiesByName) => boolean

export interface InvokeResponse {
  readonly payload: Uint8Array
  readonly userProperties: Readonly<Record<string, string>>
  /** The properties that all responses of one status share. */
  readonly commonProperties: Readonly<Record<string, string>>
  readonly changes: readonly KeyChange[]
  /** The engine's reply, or `undefined` if the request did not reach the engine. */
  readonly reply: Reply | undefined
  readonly work?: number | undefined
  readonly repeated?: true | undefined
}

export type ParsedRequest =
  | LoggedWrite
  | (Query & { readonly type: 'read' })
  /** The request is rejected. `command` is missing if the payload is not a command. */
  | { readonly type: 'rejected'; readonly response: InvokeResponse; readonly command?: Command | undefined }

export interface RequestProcessorOptions<C> {
  readonly engine: Engine<C>
  readonly dialect: Dialect
  readonly isVolatile?: VolatileRule | undefined
  /** Returns the principal to charge for a connection's keys. Default: none. */
  ownerOf?(connection: C): Owner | undefined
}

const EMPTY = new Uint8Array(0)

/**
 * The RPC layer of the state store, which maps MQTT messages to engine requests and engine replies to responses.
 * Source: state store protocol, "System topic, QoS and required properties". The `__` properties are those of the
 * official clients.
 */
export class RequestProcessor<C extends { readonly clientId: string }> {
  readonly #engine: Engine<C>
  readonly #dialect: Dialect
  readonly #isVolatile: VolatileRule | undefined
  readonly #ownerOf: (connection: C) => Owner | undefined

  constructor({ engine, dialect, isVolatile, ownerOf = () => undefined }: RequestProcessorOptions<C>) {
    this.#engine = engine
    this.#dialect = dialect
    this.#isVolatile = isVolatile
    this.#ownerOf = ownerOf
  }

  /** Parses a request and checks the right to write. The right to read is checked only when the read runs. */
  parse(request: InvokeRequest, connection: C): ParsedRequest {
    const response = validateRequest(request)
    if (response !== undefined) return { type: 'rejected', response }
    const { payload, correlationData, messageExpiry, dup = false, userProperties } = request
    let command: Command | undefined
    try {
      command = parseCommand(payload)
      const timestamp = singleValue(userProperties[PROPERTY.timestamp])
      const fencingToken = singleValue(userProperties[PROPERTY.fencingToken])
      if (!isWrite(command)) return { type: 'read', command, timestamp, fencingToken }
      if (!this.#engine.allows(connection, command)) throw new CommandError('not-authorized')
      const origin = correlationData && { clientId: connection.clientId, correlationData, dup, messageExpiry }
      const volatile = command.verb === 'SET' && this.#isVolatile?.(command.key, userProperties) ? true : undefined
      const owner = this.#ownerOf(connection)
      return { type: 'write', payload, timestamp, fencingToken, command, origin, volatile, owner }
    } catch (error) {
      return { type: 'rejected', response: this.respond(errorResult(error), command?.verb), command }
    }
  }
  query(query: Query, connection: C, now: number): InvokeResponse {
    return this.respond(this.#engine.query(query, connection, now), query.command.verb)
  }

  respond(answer: CommandResult, verb?: Command['verb']): InvokeResponse {
    return {
      payload: encodeReply(answer.reply, this.#dialect, verb === 'KEYNOTIFY'),
      userProperties: propertiesOf(answer),
      commonProperties: OK_PROPERTIES,
      changes: answer.changes,
      reply: answer.reply,
      work: answer.work,
      repeated: answer.repeated,
    }
  }

  /** Returns the response to a read whose reply the client, or the broker before it, does not accept. */
  tooLargeResponse(
    { payload, work }: InvokeResponse,
    receiver: 'client' | 'broker',
    maxPacketBytes: number,
  ): InvokeResponse {
    const text = `the reply of ${payload.length} bytes exceeds the maximum packet size of the ${receiver}, ${maxPacketBytes} bytes`
    return this.respond({
      reply: { type: 'error', code: 'service-unknown', text },
      version: undefined,
      changes: [],
      work,
    })
  }

  failureResponse({ problem }: Pick<LogFailure, 'problem'>): InvokeResponse {
    if (problem === 'broken') return DISK_FAILED
    if (problem === 'closed') return STOPPING
    if (problem === 'unavailable') return LOG_UNREACHABLE
    return this.respond({ reply: { type: 'error', code: 'quota-exceeded' }, version: undefined, changes: [] })
  }
}

const responseProperties = (status: number): Record<string, string> => ({
  [PROPERTY.status]: String(status),
  [PROPERTY.protocolVersion]: PROTOCOL_VERSION,
  [PROPERTY.sourceId]: 'StateStore',
  [PROPERTY.highPriority]: '',
})

const OK_PROPERTIES = responseProperties(STATUS.ok)

const NO_PROPERTIES: Readonly<Record<string, string>> = Object.freeze({})

function propertiesOf({ version, position }: CommandResult): Readonly<Record<string, string>> {
  if (version !== undefined) return { [PROPERTY.timestamp]: String(version) }
  return position === undefined ? NO_PROPERTIES : { [PROPERTY.position]: String(position) }
}

const rejection = (status: number, properties: Record<string, string>): InvokeResponse => ({
  payload: EMPTY,
  userProperties: properties,
  commonProperties: responseProperties(status),
  changes: [],
  reply: undefined,
})

const DISK_FAILED = rejection(STATUS.unavailable, {
  [PROPERTY.statusMessage]: 'the store cannot write to its disk; nothing was changed',
})

const STOPPING = rejection(STATUS.unavailable, {
  [PROPERTY.statusMessage]: 'the store is stopping; nothing was changed',
})

const LOG_UNREACHABLE = rejection(STATUS.unavailable, {
  [PROPERTY.statusMessage]: 'the store cannot reach the log shared by its nodes; nothing was changed',
})

/** Returns a rejection if the message is not a valid request. */
function validateRequest({ qos, userProperties }: InvokeRequest): InvokeResponse | undefined {
  if (qos !== 1) return badRequest('a request must be published with QoS 1', 'QoS', String(qos))
  const version = singleValue(userProperties[PROPERTY.protocolVersion]) ?? PROTOCOL_VERSION
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

/** Returns whether a request has the property that makes its key persistent. */
export const requestsPersistence = (userProperties: PropertiesByName): boolean =>
  singleValue(userProperties[PROPERTY.persist]) === 'true'

// The protocol does not define a repeated property. The joined values fail validation.
const singleValue = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'object' ? value.join(',') : value
