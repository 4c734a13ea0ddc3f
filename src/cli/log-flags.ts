import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { ArgumentError, reason } from '../base/errors.js'
import type { JetStreamOptions, SharedLog } from '../jetstream/index.js'
import { EXIT, Failure } from './failure.js'
import { positiveInteger } from './flags.js'

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
export async function logOf(flags: LogFlags): Promise<SharedLog | undefined> {
  if (flags.log === undefined) {
    const lonely = LONELY.find(([name]) => flags[name] !== undefined)
    if (lonely !== undefined) throw new Failure(EXIT.usage, `${lonely[1]} is for --log`)
    return undefined
  }
  const options = optionsOf(flags.log, flags)
  const { jetStreamLog } = await import('../jetstream/index.js')
  try {
    return jetStreamLog(options)
  } catch (cause) {
    if (cause instanceof ArgumentError) throw new Failure(EXIT.usage, cause.message, { cause })
    throw cause
  }
}

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
] as const satisfies readonly (readonly [keyof LogFlags, string])[]

function optionsOf(servers: string, flags: LogFlags): JetStreamOptions {
  const { logName, logReplicas, nodeId, reads, logUser, logPasswordFile, logTokenFile, logCreds, logNkey } = flags
  const { logCa, logCert, logKey } = flags
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
    ...(logUser !== undefined && { user: logUser }),
    ...(logPasswordFile !== undefined && { pass: secretIn(logPasswordFile, '--log-password-file') }),
    ...(logTokenFile !== undefined && { token: secretIn(logTokenFile, '--log-token-file') }),
    ...(logCreds !== undefined && { credsFile: logCreds }),
    ...(logNkey !== undefined && { nkeyFile: logNkey }),
    ...(Object.keys(tls).length > 0 && { tls }),
  }
}

function secretIn(file: string, flag: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new Failure(EXIT.usage, `cannot read the file of ${flag}: ${reason(cause)}`, { cause })
  }
}
