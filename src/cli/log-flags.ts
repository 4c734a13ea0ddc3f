import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { utf8 } from '../core/util/bytes.js'
import { ArgumentError, reason } from '../core/util/errors.js'
import type { JetStreamOptions, SharedLog } from '../server/log/jetstream/index.js'
import { EXIT, Failure } from './failure.js'
import { positiveInteger } from './flags.js'
import type { Io } from './io.js'

/** Flags about a log that several nodes share. */
export interface LogFlags {
  readonly log?: string
  readonly logName?: string
  readonly logReplicas?: number
  readonly nodeId?: string
  readonly reads?: 'linearizable' | 'local'
  readonly logUser?: string
  readonly logPasswordFile?: string
  readonly logTokenFile?: string
  readonly logCreds?: string
  readonly logNkey?: string
  readonly logCa?: string
  readonly logCert?: string
  readonly logKey?: string
  readonly logKeyFile?: string
  readonly logSkip?: readonly number[]
}

const GROUP = 'A store of several nodes, in NATS JetStream (docs/cluster.md):'

/** Adds them. */
export function addLogFlags(command: Command): void {
  const add = (flags: string, description: string): Option => {
    const option = new Option(flags, description).helpGroup(GROUP)
    command.addOption(option)
    return option
  }
  add('--log <servers>', 'be a node: NATS servers that keep the log, such as nats://a:4222,b:4222,c:4222')
  add('--log-name <name>', 'with --log: name of the store, the same at all its nodes (default)')
  add('--log-replicas <n>', 'with --log: NATS servers that keep all of it, when it is made: 1, 3 or 5 (3)').argParser(
    positiveInteger,
  )
  add('--node-id <id>', 'with --log: id of this node, of which there is one (name of the machine)')
  add('--reads <how>', 'with --log: see all that was answered anywhere, or what this node has (linearizable)').choices([
    'linearizable',
    'local',
  ])
  add(
    '--log-key-file <file>',
    'key that all nodes share and sign with, such as `openssl rand -hex 32` writes; without one whoever may publish to the log may write every key',
  )
  add(
    '--log-skip <position>',
    'leave out the message at this position of the log, the same at all nodes; repeatable',
  ).argParser((text: string, positions: readonly number[] = []) => [...positions, positiveInteger(text)])
  add('--log-user <name>', 'user at NATS')
  add('--log-password-file <file>', 'its password')
  add('--log-token-file <file>', 'token for NATS')
  add('--log-creds <file>', 'credentials of a NATS user, as nsc writes them')
  add('--log-nkey <file>', 'seed of a NATS nkey')
  add('--log-ca <file>', 'certificate authority of the NATS servers, PEM')
  add('--log-cert <file>', 'client certificate for NATS, PEM')
  add('--log-key <file>', 'its key, PEM')
}

/** The log that flags name, if they name one; loads what that needs. Rejects with {@link Failure}. */
export async function logOf(flags: LogFlags, io: Io): Promise<SharedLog | undefined> {
  if (flags.log === undefined) {
    const lonely = LONELY.find(([name]) => flags[name] !== undefined)
    if (lonely !== undefined) throw new Failure(EXIT.usage, `${lonely[1]} is for --log`)
    return undefined
  }
  const options = optionsOf(flags.log, flags)
  const { jetStreamLog } = await import('../server/log/jetstream/index.js')
  try {
    const log = jetStreamLog(options)
    if (flags.logKeyFile === undefined) io.stderr.write(`${withoutKey(log.name)}\n`)
    return log
  } catch (cause) {
    if (cause instanceof ArgumentError) throw new Failure(EXIT.usage, cause.message, { cause })
    throw cause
  }
}

const withoutKey = (name: string): string =>
  `nodes have no key: whoever may publish to rxss.${name}.log at NATS may write every key and stop all nodes; give all of ` +
  'them the same --log-key-file'

const LONELY = [
  ['logName', '--log-name'],
  ['logReplicas', '--log-replicas'],
  ['nodeId', '--node-id'],
  ['reads', '--reads'],
  ['logUser', '--log-user'],
  ['logPasswordFile', '--log-password-file'],
  ['logTokenFile', '--log-token-file'],
  ['logCreds', '--log-creds'],
  ['logNkey', '--log-nkey'],
  ['logCa', '--log-ca'],
  ['logCert', '--log-cert'],
  ['logKey', '--log-key'],
  ['logKeyFile', '--log-key-file'],
  ['logSkip', '--log-skip'],
] as const satisfies readonly (readonly [keyof LogFlags, string])[]

function optionsOf(servers: string, flags: LogFlags): JetStreamOptions {
  const { logName, logReplicas, nodeId, reads, logUser, logPasswordFile, logTokenFile, logCreds, logNkey } = flags
  const { logCa, logCert, logKey, logKeyFile, logSkip } = flags
  const tls = {
    ...(logCa !== undefined && { caFile: logCa }),
    ...(logCert !== undefined && { certFile: logCert }),
    ...(logKey !== undefined && { keyFile: logKey }),
  }
  return {
    servers,
    ...(logName !== undefined && { name: logName }),
    ...(logReplicas !== undefined && { replicas: logReplicas }),
    ...(nodeId !== undefined && { nodeId }),
    ...(reads !== undefined && { reads }),
    ...(logKeyFile !== undefined && { keys: keysIn(logKeyFile) }),
    ...(logSkip !== undefined && { skip: logSkip }),
    ...(logUser !== undefined && { user: logUser }),
    ...(logPasswordFile !== undefined && { pass: secretIn(logPasswordFile, '--log-password-file') }),
    ...(logTokenFile !== undefined && { token: secretIn(logTokenFile, '--log-token-file') }),
    ...(logCreds !== undefined && { credsFile: logCreds }),
    ...(logNkey !== undefined && { nkeyFile: logNkey }),
    ...(Object.keys(tls).length > 0 && { tls }),
  }
}

/** A key in each line: the first one signs, all are known, so that one can be replaced while nodes run. */
function keysIn(file: string): Uint8Array[] {
  const lines = secretIn(file, '--log-key-file')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
  // Its lines would be keys, and its first one is the same in all such files.
  if (lines[0]?.startsWith('-----BEGIN'))
    throw new Failure(EXIT.usage, 'the file of --log-key-file is a PEM file; the key of a certificate is for --log-key')
  if (lines.length === 0) throw new Failure(EXIT.usage, 'the file of --log-key-file has no key')
  return lines.map(line => utf8(line))
}

function secretIn(file: string, flag: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new Failure(EXIT.usage, `cannot read the file of ${flag}: ${reason(cause)}`, { cause })
  }
}
