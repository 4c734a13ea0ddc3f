import { hostname } from 'node:os'
import { checkOptionNames, checkPositiveInteger } from '../../../core/util/check.js'
import { ArgumentError, formatValue } from '../../../core/util/errors.js'
import type { Checked } from '../../../core/util/options.js'
import { LogKeys } from '../cluster/node-message.js'

/** Of a key that nodes share, bytes. */
const SHORTEST_KEY = 16

/** Options of {@link jetStreamLog}. */
export interface JetStreamOptions {
  /** Addresses of NATS servers, such as `nats://a:4222` or `a:4222`; `tls://` for TLS. One that works is enough. */
  readonly servers: string | readonly string[]
  /** Of the store: nodes with the same name are one store. Letters, digits, `-` and `_`. Default `default`. */
  readonly name?: string | undefined
  /** On how many NATS servers all is kept: 1, 3 or 5. It counts when the stream is made. Default 3. */
  readonly replicas?: number | undefined
  /** Of this node; every node of a store has its own, the same each time. Default the name of the machine. */
  readonly nodeId?: string | undefined
  /**
   * `linearizable` (default): a read sees all that was acknowledged anywhere before it was sent, and costs a round trip to the
   * log. `local`: it sees what this node has applied, which may be older than what a client was told at another node; a
   * watch never is.
   */
  readonly reads?: 'linearizable' | 'local' | undefined
  /** For so long the log is waited for before clients are sent away, ms. Default 10,000. */
  readonly stallTimeout?: number | undefined
  /** How long connecting and making the stream may take, ms. Default 30,000. */
  readonly connectTimeout?: number | undefined
  /**
   * Key that the nodes of a store share, of 16 bytes at least, random: they sign what they send with it, and what is not signed
   * counts for nobody. With several the first one signs, and all are known. Default none: whoever may publish to the log counts
   * as a node, and may write every key.
   */
  readonly keys?: readonly Uint8Array[] | undefined
  /** Positions of messages that this node leaves out; all nodes have to be given the same. Default none. */
  readonly skip?: readonly number[] | undefined
  readonly user?: string | undefined
  readonly pass?: string | undefined
  readonly token?: string | undefined
  /** File with a user's JWT and key, as `nsc` writes it. */
  readonly credsFile?: string | undefined
  /** File with the seed of an nkey. */
  readonly nkeyFile?: string | undefined
  /** Files in PEM form; with one of them the connection is by TLS. */
  readonly tls?:
    | {
        readonly caFile?: string | undefined
        readonly certFile?: string | undefined
        readonly keyFile?: string | undefined
      }
    | undefined
}

/** Options with their defaults. */
export interface JetStreamSettings
  extends Checked<Pick<JetStreamOptions, 'name' | 'nodeId' | 'reads' | 'stallTimeout'>> {
  readonly servers: string[]
  readonly replicas: number
  readonly connectTimeout: number
  readonly keys: LogKeys | undefined
  readonly skip: ReadonlySet<number>
  readonly login: Pick<JetStreamOptions, 'user' | 'pass' | 'token' | 'credsFile' | 'nkeyFile' | 'tls'>
}

/** Reads options. Throws {@link ArgumentError}. */
export function settingsFrom(options: JetStreamOptions): JetStreamSettings {
  const { name = 'default', replicas = 3, nodeId = defaultNodeId(), reads = 'linearizable' } = options
  const { stallTimeout = 10_000, connectTimeout = 30_000, user, pass, token, credsFile, nkeyFile, tls } = options
  const { keys = [], skip = [] } = options
  const servers = serversOf(options.servers)
  checkWord('name', name)
  checkWord('nodeId', nodeId)
  if (![1, 3, 5].includes(replicas))
    throw new ArgumentError(`Expected \`replicas\` to be 1, 3 or 5, got \`${formatValue(replicas)}\``)
  if (reads !== 'linearizable' && reads !== 'local')
    throw new ArgumentError(`Expected \`reads\` to be linearizable or local, got \`${formatValue(reads)}\``)
  checkPositiveInteger('stallTimeout', stallTimeout)
  checkPositiveInteger('connectTimeout', connectTimeout)
  for (const position of skip) checkPositiveInteger('skip', position)
  const login = { user, pass, token, credsFile, nkeyFile, tls }
  checkOptionNames('jetStreamLog', options, {
    servers,
    name,
    replicas,
    nodeId,
    reads,
    stallTimeout,
    connectTimeout,
    keys,
    skip,
    ...login,
  })
  const given = Object.fromEntries(Object.entries(login).filter(([, value]) => value !== undefined))
  const shared = { keys: keysFrom(keys, name), skip: new Set(skip) }
  return { servers, name, replicas, nodeId, reads, stallTimeout, connectTimeout, ...shared, login: given }
}

function keysFrom(keys: readonly Uint8Array[], name: string): LogKeys | undefined {
  const areKeys = Array.isArray(keys) && keys.every(key => key instanceof Uint8Array && key.length >= SHORTEST_KEY)
  // Not the keys themselves.
  if (!areKeys) throw new ArgumentError(`Expected \`keys\` to be keys of ${SHORTEST_KEY} bytes or more`)
  const [first, ...others] = keys
  return first === undefined ? undefined : new LogKeys([first, ...others], name)
}

/** They are parts of subjects. */
function checkWord(option: string, word: string): void {
  if (typeof word === 'string' && /^[\w-]{1,64}$/.test(word)) return
  throw new ArgumentError(
    `Expected \`${option}\` to have 1 to 64 letters, digits, \`-\` and \`_\`, got \`${formatValue(word)}\``,
  )
}

function serversOf(servers: JetStreamOptions['servers']): string[] {
  const list = (typeof servers === 'string' ? servers.split(',') : Array.from(servers)).map(each => String(each).trim())
  if (list.length === 0 || list.some(each => each === '')) {
    throw new ArgumentError(`Expected \`servers\` to be addresses of NATS servers, got \`${formatValue(servers)}\``)
  }
  return list
}

const defaultNodeId = (): string =>
  hostname()
    .replaceAll(/[^\w-]/g, '-')
    .slice(0, 64)
