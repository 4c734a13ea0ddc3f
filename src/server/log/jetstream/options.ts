import { hostname } from 'node:os'
import { isBytes } from '../../../core/util/built-in-types.js'
import { checkArgument, checkOptionNames, checkPositiveInteger } from '../../../core/util/check.js'
import { ArgumentError } from '../../../core/util/errors.js'
import { formatUrl } from '../../../core/util/format-url.js'
import { omitUndefined } from '../../../core/util/omit-undefined.js'
import type { Checked } from '../../../core/util/options.js'
import { LogKeys } from '../cluster/node-message.js'

const MIN_KEY_BYTES = 16

/** The servers of a shared log, and how a node of the store logs in and shares it. */
export interface JetStreamOptions {
  /**
   * The addresses of NATS servers, such as `nats://a:4222`, `a:4222`, or `tls://a:4222` for TLS. A single working
   * server is enough.
   */
  readonly servers: string | readonly string[]
  /**
   * The store's name, with letters, digits, `-` and `_`. Nodes with the same name form one store. Default:
   * `default`.
   */
  readonly name?: string | undefined
  /**
   * The number of NATS servers that store the log: 1, 3 or 5. It takes effect when the stream is created. Default: 3.
   */
  readonly replicas?: number | undefined
  /** This node's id, which must be unique in the store and stable across restarts. Default: the host name. */
  readonly nodeId?: string | undefined
  /**
   * The consistency of reads. `linearizable` (default): a read sees every write that any node acknowledged before the
   * read was sent, at the cost of a round trip to the log. `local`: a read sees the state that this node has applied,
   * which may be older than a value that another node has acknowledged. A watch never sees older values.
   */
  readonly reads?: 'linearizable' | 'local' | undefined
  /** The time in ms for which the log may be unreachable before clients are disconnected. Default: 10,000. */
  readonly stallTimeout?: number | undefined
  /** The time in ms that connecting and creating the stream may take. Default: 30,000. */
  readonly connectTimeout?: number | undefined
  /**
   * Random keys of at least 16 bytes with which all nodes of a store sign their messages. Unsigned messages do not
   * count. The first key signs and all keys verify. Default: none, so that every client that may publish to the log
   * counts as a node and may write every key.
   */
  readonly keys?: readonly Uint8Array[] | undefined
  /** The positions of messages that nodes ignore. Pass the same positions to all nodes. Default: none. */
  readonly skip?: readonly number[] | undefined
  readonly user?: string | undefined
  /** The password of `user`. A function is called at each login, so that the password can change while a node runs. */
  readonly pass?: string | (() => string) | undefined
  /** A token, or a function that is called at each login. */
  readonly token?: string | (() => string) | undefined
  /** The file with a user's JWT and key, as written by `nsc`. It is read at each login. */
  readonly credsFile?: string | undefined
  /** The file with the seed of an nkey. It is read at each login. */
  readonly nkeyFile?: string | undefined
  /** The PEM files, any of which enables TLS. */
  readonly tls?:
    | {
        readonly caFile?: string | undefined
        readonly certFile?: string | undefined
        readonly keyFile?: string | undefined
      }
    | undefined
}

/** The options with defaults applied. */
export interface JetStreamSettings
  extends Checked<Pick<JetStreamOptions, 'name' | 'nodeId' | 'reads' | 'stallTimeout'>> {
  readonly servers: string[]
  readonly replicas: number
  readonly connectTimeout: number
  readonly keys: LogKeys | undefined
  readonly skip: ReadonlySet<number>
  readonly login: Pick<JetStreamOptions, 'user' | 'pass' | 'token' | 'credsFile' | 'nkeyFile' | 'tls'>
}

/** Validates the options. Throws {@link ArgumentError} for an invalid option. */
export function parseOptions(options: JetStreamOptions): JetStreamSettings {
  const { name = 'default', replicas = 3, nodeId = defaultNodeId(), reads = 'linearizable' } = options
  const { stallTimeout = 10_000, connectTimeout = 30_000, user, pass, token, credsFile, nkeyFile, tls } = options
  const { keys = [], skip = [] } = options
  const servers = parseServers(options.servers)
  checkName('name', name)
  checkName('nodeId', nodeId)
  checkArgument([1, 3, 5].includes(replicas), '`replicas` to be 1, 3 or 5', replicas)
  checkArgument(reads === 'linearizable' || reads === 'local', '`reads` to be linearizable or local', reads)
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
  const shared = { keys: parseKeys(keys, name), skip: new Set(skip), login: omitUndefined(login) }
  return { servers, name, replicas, nodeId, reads, stallTimeout, connectTimeout, ...shared }
}

function parseKeys(keys: readonly Uint8Array[], name: string): LogKeys | undefined {
  const areKeys = Array.isArray(keys) && keys.every(key => isBytes(key) && key.length >= MIN_KEY_BYTES)
  // The message must not contain the keys, which are secret.
  if (!areKeys) throw new ArgumentError(`Expected \`keys\` to be byte arrays of at least ${MIN_KEY_BYTES} bytes`)
  const [first, ...others] = keys
  return first === undefined ? undefined : new LogKeys([first, ...others], name)
}

/** Throws {@link ArgumentError} for an invalid name. Names become parts of NATS subjects. */
function checkName(option: string, name: string): void {
  checkArgument(
    typeof name === 'string' && /^[\w-]{1,64}$/.test(name),
    `\`${option}\` to have 1 to 64 letters, digits, \`-\` and \`_\``,
    name,
  )
}

function parseServers(servers: JetStreamOptions['servers']): string[] {
  const list = (typeof servers === 'string' ? servers.split(',') : Array.from(servers)).map(each => String(each).trim())
  if (list.length === 0 || list.some(each => each === '')) {
    throw new ArgumentError(
      `Expected \`servers\` to be addresses of NATS servers, got \`${list.map(formatUrl).join(',')}\``,
    )
  }
  return list
}

const defaultNodeId = (): string =>
  hostname()
    .replaceAll(/[^\w-]/g, '-')
    .slice(0, 64)
