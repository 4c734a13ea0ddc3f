import { hostname } from 'node:os'
import { checkOptionNames, checkPositiveInteger } from '../../../core/util/check.js'
import { ArgumentError, formatValue } from '../../../core/util/errors.js'
import type { Checked } from '../../../core/util/options.js'
import { LogKeys } from '../cluster/node-message.js'

const MIN_KEY_BYTES = 16

/** Options of {@link jetStreamLog}. */
export interface JetStreamOptions {
  /** Addresses of NATS servers, such as `nats://a:4222` or `a:4222`; `tls://` for TLS. One working server is enough. */
  readonly servers: string | readonly string[]
  /** Name of the store; nodes with the same name form one store. Letters, digits, `-` and `_`. Default `default`. */
  readonly name?: string | undefined
  /** Number of NATS servers that store the log: 1, 3 or 5. Takes effect when the stream is created. Default 3. */
  readonly replicas?: number | undefined
  /** Id of this node, unique in the store and stable across restarts. Default: the host name. */
  readonly nodeId?: string | undefined
  /**
   * `linearizable` (default): a read sees everything acknowledged by any node before the read was sent, at the cost of
   * a round trip to the log. `local`: a read sees what this node has applied, which may be older than a value another
   * node has acknowledged; a watch is never older.
   */
  readonly reads?: 'linearizable' | 'local' | undefined
  /** How long the log may be unreachable before clients are disconnected, ms. Default 10,000. */
  readonly stallTimeout?: number | undefined
  /** How long connecting and creating the stream may take, ms. Default 30,000. */
  readonly connectTimeout?: number | undefined
  /**
   * Random keys of at least 16 bytes, shared by the nodes of a store, with which they sign their messages; unsigned
   * messages do not count. The first key signs and all of them verify. Default none: anyone permitted to publish to the
   * log counts as a node and may write every key.
   */
  readonly keys?: readonly Uint8Array[] | undefined
  /** Positions of messages that nodes ignore; pass the same to all nodes. Default none. */
  readonly skip?: readonly number[] | undefined
  readonly user?: string | undefined
  readonly pass?: string | undefined
  readonly token?: string | undefined
  /** File with a user's JWT and key, as written by `nsc`. */
  readonly credsFile?: string | undefined
  /** File with the seed of an nkey. */
  readonly nkeyFile?: string | undefined
  /** PEM files; any of them enables TLS. */
  readonly tls?:
    | {
        readonly caFile?: string | undefined
        readonly certFile?: string | undefined
        readonly keyFile?: string | undefined
      }
    | undefined
}

/** Options with defaults applied. */
export interface JetStreamSettings
  extends Checked<Pick<JetStreamOptions, 'name' | 'nodeId' | 'reads' | 'stallTimeout'>> {
  readonly servers: string[]
  readonly replicas: number
  readonly connectTimeout: number
  readonly keys: LogKeys | undefined
  readonly skip: ReadonlySet<number>
  readonly login: Pick<JetStreamOptions, 'user' | 'pass' | 'token' | 'credsFile' | 'nkeyFile' | 'tls'>
}

/** Validates options. Throws {@link ArgumentError}. */
export function parseOptions(options: JetStreamOptions): JetStreamSettings {
  const { name = 'default', replicas = 3, nodeId = defaultNodeId(), reads = 'linearizable' } = options
  const { stallTimeout = 10_000, connectTimeout = 30_000, user, pass, token, credsFile, nkeyFile, tls } = options
  const { keys = [], skip = [] } = options
  const servers = parseServers(options.servers)
  checkName('name', name)
  checkName('nodeId', nodeId)
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
  const definedLogin = Object.fromEntries(Object.entries(login).filter(([, value]) => value !== undefined))
  const shared = { keys: parseKeys(keys, name), skip: new Set(skip) }
  return { servers, name, replicas, nodeId, reads, stallTimeout, connectTimeout, ...shared, login: definedLogin }
}

function parseKeys(keys: readonly Uint8Array[], name: string): LogKeys | undefined {
  const areKeys = Array.isArray(keys) && keys.every(key => key instanceof Uint8Array && key.length >= MIN_KEY_BYTES)
  // The message must not contain the keys.
  if (!areKeys) throw new ArgumentError(`Expected \`keys\` to be byte arrays of at least ${MIN_KEY_BYTES} bytes`)
  const [first, ...others] = keys
  return first === undefined ? undefined : new LogKeys([first, ...others], name)
}

/** Names become parts of NATS subjects. */
function checkName(option: string, name: string): void {
  if (typeof name === 'string' && /^[\w-]{1,64}$/.test(name)) return
  throw new ArgumentError(
    `Expected \`${option}\` to have 1 to 64 letters, digits, \`-\` and \`_\`, got \`${formatValue(name)}\``,
  )
}

function parseServers(servers: JetStreamOptions['servers']): string[] {
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
