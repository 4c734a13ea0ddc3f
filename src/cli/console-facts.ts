import type { IncomingMessage } from 'node:http'
import { urlsFromEnv } from '../node/settings.js'
import type { AttachedFacts, Pulse, StoreFacts } from '../server/console/contract.js'
import { askConsole, type ConsoleAddress, consoleOf, textOf } from './console-client.js'
import { EXIT, Failure } from './failure.js'
import { type ConnectionFlags, type ConsoleFlags, URL_VARIABLE } from './flags.js'
import type { Io } from './io.js'

/** What only a console tells of a store. Times in ms. */
export interface StorePulse {
  /** Missing while an attached store does not serve. */
  readonly uptime: number | undefined
  /** What an attached store does. */
  readonly attached: AttachedFacts['state'] | undefined
  readonly keys: number
  readonly connections: number
  /** Network connections, also of clients that are not let in. */
  readonly networkConnections: number | undefined
  /** Connections and logins that were refused since it started. */
  readonly refusedConnections: number | undefined
  readonly refusedLogins: number | undefined
  readonly watches: number
  readonly frozen: boolean
  /** How far versions are ahead of the store's clock. */
  readonly drift: number
}

/** A console that is asked beside the broker, if one is named, and its broker, where nothing else names one. */
export interface BesideConsole {
  readonly console: ConsoleAddress | undefined
  readonly url: { readonly url?: string }
}

/** Finds the console of the flags, else of the environment, and asks it where its broker is if need be. */
export async function besideConsole(flags: ConnectionFlags & ConsoleFlags, { env }: Io): Promise<BesideConsole> {
  const console = consoleOf(flags, env)
  const byEnvironment = flags.console === undefined && (env[URL_VARIABLE] || urlsFromEnv(env))
  if (console === undefined || flags.url !== undefined || byEnvironment) return { console, url: {} }
  const facts: StoreFacts = JSON.parse(await textOf(await askConsole(console, 'store')))
  return { console, url: { url: facts.url } }
}

/** Asks a console how its store is. */
export async function pulseOf(address: ConsoleAddress): Promise<StorePulse> {
  const answer = await askConsole(address, 'stream')
  const { at, startedAt, keys, connections, watches, frozenUntil, drift = 0, ...rest } = await firstLine(answer)
  const uptime = startedAt === undefined ? undefined : at - startedAt
  const attached = rest.attached?.state
  const { networkConnections, refusedConnections, refusedLogins } = rest
  const refused = { networkConnections, refusedConnections, refusedLogins }
  const frozen = frozenUntil !== undefined
  return { uptime, attached, keys, connections, watches, ...refused, frozen, drift }
}

/** Leaves the rest, of which there is no end. */
async function firstLine(answer: IncomingMessage): Promise<Pulse> {
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) {
    text += chunk
    const end = text.indexOf('\n')
    if (end >= 0) return JSON.parse(text.slice(0, end))
  }
  throw new Failure(EXIT.failed, 'the console did not tell how the store is')
}
