import type { Command } from 'commander'
import type { ServeConsoleOptions } from '../server/console/index.js'
import { contentOf } from './connection.js'
import { type ConsoleServerFlags, checkConsoleFlags } from './console-flags.js'
import { EXIT, Failure } from './failure.js'

/** Flags about how the page of a console reaches a broker of somebody else. */
export interface ConsoleBrokerFlags {
  readonly consoleBrokerUrl?: string
  readonly consoleBrokerUser?: string
  readonly consoleBrokerPasswordFile?: string
}

/** What they say. */
export type BrokerOfConsole = Pick<ServeConsoleOptions, 'brokerUrl' | 'brokerLogin'>

/** Adds them. */
export function addConsoleBroker(command: Command): void {
  command.option('--console-broker-url <url>', 'where its page finds the broker, such as ws://broker:9001')
  command.option('--console-broker-user <name>', 'as whom the page logs in there; told to whoever has the token')
  command.option('--console-broker-password-file <file>', 'with this password')
}

/** Reads them. Throws {@link Failure} for what makes no sense and what cannot be read. */
export function brokerOfConsole(flags: ConsoleServerFlags & ConsoleBrokerFlags): BrokerOfConsole {
  const { console, consoleBrokerUrl: brokerUrl, consoleBrokerUser: username, consoleBrokerPasswordFile: file } = flags
  checkConsoleFlags(flags, {
    'console-broker-url': brokerUrl,
    'console-broker-user': username,
    'console-broker-password-file': file,
  })
  if (console !== undefined && brokerUrl === undefined)
    throw new Failure(
      EXIT.usage,
      '--console needs --console-broker-url: its page reads and writes keys at the broker, over WebSocket',
    )
  if (username === undefined && file !== undefined)
    throw new Failure(EXIT.usage, '--console-broker-password-file needs --console-broker-user')
  if (username === undefined) return { brokerUrl }
  const password = contentOf('--console-broker-password-file', file)?.replace(/\r?\n$/, '')
  return { brokerUrl, brokerLogin: { username, ...(password !== undefined && { password }) } }
}
