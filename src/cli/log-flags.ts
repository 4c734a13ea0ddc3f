import { readFileSync } from 'node:fs'
import { utf8 } from '../core/util/bytes.js'
import { ArgumentError, reason } from '../core/util/errors.js'
import { choice, count, type OptionKind, type OptionTable, text } from '../core/util/options.js'
import type { JetStreamOptions, SharedLog } from '../server/log/jetstream/index.js'
import type { EventLog } from './event-log.js'
import { EXIT, Failure } from './failure.js'
import { optionsIn, refuseOthers } from './flags.js'

export const LOG_GROUP = 'A store of several nodes, in NATS JetStream (docs/cluster.md):'

const positions: OptionKind<readonly number[]> = {
  sign: '<position>',
  expected: count.expected,
  isList: true,
  schema: { type: 'array', items: count.schema },
  read: count.read,
  is: (value): value is readonly number[] => Array.isArray(value) && value.every(count.is),
}

/** The log's options. Those that {@link JetStreamOptions} also has use the same names. */
const LOG_STREAM = {
  servers: {
    flag: '--log',
    kind: text('<servers>'),
    help: 'run as a node: NATS servers, such as nats://a:4222,b:4222',
    isCommon: true,
  },
  name: {
    flag: '--log-name',
    kind: text('<name>'),
    without: 'default',
    help: 'with --log: name of the store, the same for all nodes',
  },
  replicas: {
    flag: '--log-replicas',
    kind: count,
    without: '3',
    help: 'with --log: replicas of a new log: 1, 3 or 5',
  },
  nodeId: {
    kind: text('<id>'),
    without: 'host name',
    help: 'with --log: unique id of this node',
    isCommon: true,
  },
  reads: {
    kind: choice('<how>', ['linearizable', 'local']),
    without: 'linearizable',
    help: 'with --log: reads see every acknowledged write, or the state of this node',
  },
  signingKeyFile: {
    flag: '--log-key-file',
    kind: text('<file>'),
    help: 'key with which all nodes sign, such as the output of `openssl rand -hex 32`; without one, any client that may publish to the log can write every key',
  },
  skip: {
    flag: '--log-skip',
    kind: positions,
    help: 'ignore the message at this position of the log, the same for all nodes; repeatable',
  },
  user: { flag: '--log-user', kind: text('<name>'), help: 'user name at NATS' },
  passwordFile: { flag: '--log-password-file', kind: text('<file>'), help: 'file with its password' },
  tokenFile: { flag: '--log-token-file', kind: text('<file>'), help: 'file with a token for NATS' },
  credsFile: { flag: '--log-creds', kind: text('<file>'), help: 'credentials file of a NATS user, as created by nsc' },
  nkeyFile: { flag: '--log-nkey', kind: text('<file>'), help: 'file with the seed of a NATS nkey' },
} satisfies OptionTable

const LOG_TLS = {
  caFile: { flag: '--log-ca', kind: text('<file>'), help: 'certificate authority of the NATS servers, PEM' },
  certFile: { flag: '--log-cert', kind: text('<file>'), help: 'client certificate for NATS, PEM' },
  keyFile: { flag: '--log-key', kind: text('<file>'), help: 'its key, PEM' },
} satisfies OptionTable

export const LOG = { ...LOG_STREAM, ...LOG_TLS }

export interface LogFlags {
  readonly log?: string
}

/** Opens the log that flags name, if any, and only then loads the NATS client. Rejects with {@link Failure}. */
export async function logOf(flags: LogFlags, eventLog: EventLog): Promise<SharedLog | undefined> {
  const { servers, signingKeyFile, passwordFile, tokenFile, ...plain } = optionsIn(LOG_STREAM, flags)
  if (servers === undefined) {
    refuseOthers(LOG, flags, '--log')
    return undefined
  }
  const tls = optionsIn(LOG_TLS, flags)
  const options: JetStreamOptions = {
    servers,
    ...plain,
    ...(signingKeyFile !== undefined && { keys: keysIn(signingKeyFile) }),
    ...(passwordFile !== undefined && { pass: secretReader(passwordFile, '--log-password-file') }),
    ...(tokenFile !== undefined && { token: secretReader(tokenFile, '--log-token-file') }),
    ...(Object.keys(tls).length > 0 && { tls }),
  }
  const { jetStreamLog } = await import('../server/log/jetstream/index.js')
  try {
    const log = jetStreamLog(options)
    if (signingKeyFile === undefined) eventLog.write('warn', 'log', withoutKey(log.name))
    return log
  } catch (cause) {
    if (cause instanceof ArgumentError) throw new Failure(EXIT.usage, cause.message, { cause })
    throw cause
  }
}

const withoutKey = (name: string): string =>
  `the log is not signed: any client that may publish to rxss.${name}.log at NATS can write every key and stop all nodes; give all of ` +
  'them the same --log-key-file'

/** Reads one key per line. The first key signs and all keys verify, so that a key can be rotated while nodes run. */
function keysIn(file: string): Uint8Array[] {
  const lines = secretIn(file, '--log-key-file')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
  // Each line of a PEM file would count as a key, and the first line is the same in all such files.
  if (lines[0]?.startsWith('-----BEGIN'))
    throw new Failure(EXIT.usage, 'the file of --log-key-file is a PEM file; the key of a certificate is for --log-key')
  if (lines.length === 0) throw new Failure(EXIT.usage, 'the file of --log-key-file has no key')
  return lines.map(line => utf8(line))
}

/** Returns a function that reads a secret each time. Throws {@link Failure} if the file cannot be read now. */
function secretReader(file: string, flag: string): () => string {
  secretIn(file, flag)
  return () => secretIn(file, flag)
}

function secretIn(file: string, flag: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new Failure(EXIT.usage, `cannot read the file of ${flag}: ${reason(cause)}`, { cause })
  }
}
