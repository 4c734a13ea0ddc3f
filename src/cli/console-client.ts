import { readFileSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { pipeline } from 'node:stream/promises'
import { randomBytes } from '../core/util/bytes.js'
import { reason } from '../core/util/errors.js'
import { type Environment, urlsFromEnv } from '../node/environment.js'
import type { AttachedFacts, StatsSample, StoreFacts } from '../server/console/contract.js'
import { contentOf } from './connection.js'
import { EXIT, Failure, rootCause } from './failure.js'
import { type ConnectionFlags, type ConsoleFlags, URL_VARIABLE } from './flags.js'
import type { Io } from './io.js'

/** Where a console is, and what lets one in. */
export interface ConsoleAddress {
  readonly url: URL
  readonly token: string
  /** Authority of its certificate, PEM; default those that Node knows. */
  readonly ca?: string | undefined
}

/** Where the console is when no flag says so. */
export const CONSOLE_VARIABLE = 'RX_STATESTORE_CONSOLE'

/** How long a console may be silent, ms: one that loads a million keys is. */
const PATIENCE = 120_000
/** Longer than any answer that is not a dump, characters. */
const LONGEST_TEXT = 65_536

/** The console to ask, by flag or environment. A broker that is named by a flag goes before the environment. */
export function consoleOf(
  { console: flag, consoleTokenFile, url, ca }: ConsoleFlags & { readonly url?: string; readonly ca?: string },
  env: Environment,
): ConsoleAddress | undefined {
  const text = flag ?? (url === undefined ? env[CONSOLE_VARIABLE] : undefined)
  if (text === undefined || text === '') {
    if (consoleTokenFile === undefined) return undefined
    throw new Failure(EXIT.usage, `--console-token-file is for --console, or ${CONSOLE_VARIABLE}`)
  }
  const address = URL.canParse(text) ? new URL(text) : undefined
  const inFile = consoleTokenFile === undefined ? undefined : readConsoleToken(consoleTokenFile)
  const token = inFile ?? new URLSearchParams(address?.hash.slice(1)).get('token')
  if (address !== undefined && /^https?:$/.test(address.protocol) && token !== null && token !== '') {
    return { url: address, token, ca: contentOf('--ca', ca) }
  }
  // Not the text itself, which may have a token.
  const from = flag === undefined ? CONSOLE_VARIABLE : '--console'
  throw new Failure(
    EXIT.usage,
    `${from} must be the address that serve prints, as in http://127.0.0.1:8080/#token=..., or one without the token ` +
      'beside --console-token-file',
  )
}

/**
 * Asks a console, with a body if there is one; resolves to a successful answer. Rejects with a {@link Failure} otherwise,
 * and with what the body raises.
 */
export async function askConsole(
  { url, token, ca }: ConsoleAddress,
  path: string,
  body?: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  const headers = { authorization: `Bearer ${token}` }
  const method = body === undefined ? 'GET' : 'POST'
  const asked = request(new URL(`api/${path}`, url), { method, headers, timeout: PATIENCE, agent: false, ca })
  asked.once('timeout', () => asked.destroy(new Error(`it said nothing for ${PATIENCE} ms`)))
  const answered = new Promise<IncomingMessage>((resolve, reject) =>
    asked.once('response', resolve).on('error', reject),
  )
  let bodyError: unknown
  async function* watched(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    try {
      yield* source
    } catch (error) {
      bodyError = error
      throw error
    }
  }
  // What ends this early has ended the request as well, which tells it.
  if (body === undefined) asked.end()
  else pipeline(watched(body), asked).catch(() => undefined)
  try {
    return await successful(await answered)
  } catch (cause) {
    asked.destroy()
    if (bodyError !== undefined) throw bodyError
    if (cause instanceof Failure) throw cause
    throw new Failure(EXIT.failed, `cannot reach the console at ${url.origin}: ${rootCause(cause)}`, { cause })
  }
}

async function successful(answer: IncomingMessage): Promise<IncomingMessage> {
  if (answer.statusCode === 200) return answer
  const text = await textOf(answer)
  throw new Failure(EXIT.failed, problemIn(text) ?? `the console answered ${answer.statusCode} ${answer.statusMessage}`)
}

/** All of a short answer; of one with more than so many characters the beginning. */
export async function textOf(answer: IncomingMessage, longest = LONGEST_TEXT): Promise<string> {
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) {
    text += chunk
    if (text.length > longest) break
  }
  return text
}

function problemIn(text: string): string | undefined {
  try {
    const problem: unknown = JSON.parse(text)
    if (typeof problem === 'object' && problem !== null && 'message' in problem) return String(problem.message)
  } catch {
    // Something else answers there, in its own words.
  }
  return undefined
}

/** What only a console tells of a store. Times in ms. */
export interface StoreHealth {
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
export interface ConsoleLocation {
  readonly console: ConsoleAddress | undefined
  readonly url: { readonly url?: string }
}

/** Finds the console of the flags, else of the environment, and asks it where its broker is if need be. */
export async function besideConsole(flags: ConnectionFlags & ConsoleFlags, { env }: Io): Promise<ConsoleLocation> {
  const console = consoleOf(flags, env)
  const byEnvironment = flags.console === undefined && (env[URL_VARIABLE] || urlsFromEnv(env))
  if (console === undefined || flags.url !== undefined || byEnvironment) return { console, url: {} }
  const facts: StoreFacts = JSON.parse(await textOf(await askConsole(console, 'store')))
  return { console, url: { url: facts.url } }
}

/** Asks a console how its store is. */
export async function pulseOf(address: ConsoleAddress): Promise<StoreHealth> {
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
async function firstLine(answer: IncomingMessage): Promise<StatsSample> {
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) {
    text += chunk
    const end = text.indexOf('\n')
    if (end >= 0) return JSON.parse(text.slice(0, end))
  }
  throw new Failure(EXIT.failed, 'the console did not tell how the store is')
}

const TOKEN_BYTES = 32
const OWNER_ONLY = 0o600
/** What is made has 43 characters. */
const TOKEN = /^[\w-]{32,512}$/

/** The token in a file; raises {@link Failure} when there is none in it. */
export function readConsoleToken(file: string): string {
  const token = tokenTextOf(file)
  if (token === undefined) throw new Failure(EXIT.usage, `there is no token of a console in ${file}: no such file`)
  return checked(token, file)
}

/** The token in a file, which is made with a random one if there is none. Rejects with {@link Failure}. */
export async function keptConsoleToken(file: string): Promise<string> {
  const kept = tokenTextOf(file)
  if (kept !== undefined) return checked(kept, file)
  const token = Buffer.from(randomBytes(TOKEN_BYTES)).toString('base64url')
  try {
    // Whole or not at all, also when the machine stops meanwhile.
    const part = `${file}.part`
    const handle = await open(part, 'w', OWNER_ONLY)
    try {
      await handle.writeFile(`${token}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(part, file)
  } catch (cause) {
    throw new Failure(EXIT.failed, `cannot keep the token of the console: ${reason(cause)}`, { cause })
  }
  return token
}

function tokenTextOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new Failure(EXIT.usage, `cannot read the file of --console-token-file: ${reason(cause)}`, { cause })
  }
}

function checked(token: string, file: string): string {
  if (TOKEN.test(token)) return token
  // Not the content, which may be a secret of somebody else.
  throw new Failure(
    EXIT.usage,
    `there is no token of a console in ${file}: that is one line of 32 or more letters, digits, - and _`,
  )
}
