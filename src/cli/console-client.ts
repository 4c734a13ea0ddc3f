import { readFileSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { randomBytes } from '../core/util/bytes.js'
import { reason, StateStoreError } from '../core/util/errors.js'
import { caFromEnv, type Environment, urlsFromEnv } from '../node/environment.js'
import type { AttachedFacts, StatsSample, StoreFacts, StreamLine } from '../server/console/contract.js'
import { CONSOLE_TOKEN_FILE } from '../server/log/disk/format.js'
import { contentOf } from './connection.js'
import { EXIT, Failure, rootCause } from './failure.js'
import { type ConnectionFlags, type ConsoleFlags, URL_VARIABLE } from './flags.js'
import type { Io } from './io.js'

/** A console's address, and its token. */
export interface ConsoleAddress {
  readonly url: URL
  readonly token: string
  /** Certificate authority of the console, PEM. Default: the authorities of Node. */
  readonly ca?: string | undefined
}

/** Environment variable that names the console if no flag does. */
export const CONSOLE_VARIABLE = 'RX_STATESTORE_CONSOLE'

/** Timeout of a response, ms. Loading a million keys may take this long before the first byte of the response. */
const RESPONSE_TIMEOUT_MS = 120_000
/** Maximum length of a response, UTF-16 code units. Only a dump is longer. */
const MAX_TEXT_LENGTH = 65_536

/**
 * Returns the console that a flag names, or the one that the environment names unless a flag names a broker. Throws
 * {@link Failure}.
 */
export function consoleOf(
  { console: flag, consoleTokenFile, url, ca }: ConsoleFlags & { readonly url?: string; readonly ca?: string },
  env: Environment,
): ConsoleAddress | undefined {
  const text = flag ?? (url === undefined ? env[CONSOLE_VARIABLE] : undefined)
  if (text === undefined || text === '') {
    if (consoleTokenFile === undefined) return undefined
    throw new Failure(EXIT.usage, `--console-token-file requires --console or ${CONSOLE_VARIABLE}`)
  }
  const address = URL.canParse(text) ? new URL(text) : undefined
  const inFile = consoleTokenFile === undefined ? undefined : readConsoleToken(consoleTokenFile)
  const token = inFile ?? new URLSearchParams(address?.hash.slice(1)).get('token')
  if (address !== undefined && /^https?:$/.test(address.protocol) && token !== null && token !== '') {
    const ofEnvironment = address.protocol === 'https:' ? caFromEnv(env) : undefined
    return { url: address, token, ca: contentOf('--ca', ca) ?? ofEnvironment }
  }
  // The message does not quote the text, which may contain a token.
  const from = flag === undefined ? CONSOLE_VARIABLE : '--console'
  throw new Failure(
    EXIT.usage,
    `${from} must be the address that serve prints, as in http://127.0.0.1:8080/#token=..., or one without the token ` +
      'beside --console-token-file',
  )
}

/**
 * Sends a request to a console, and resolves to the response if it is successful. Otherwise rejects with a
 * {@link Failure}, or with the error of `body`.
 */
export async function askConsole(
  { url, token, ca }: ConsoleAddress,
  path: string,
  body?: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  const headers = { authorization: `Bearer ${token}` }
  const method = body === undefined ? 'GET' : 'POST'
  const apiRequest = request(new URL(`api/${path}`, url), {
    method,
    headers,
    timeout: RESPONSE_TIMEOUT_MS,
    agent: false,
    ca,
  })
  apiRequest.once('timeout', () => apiRequest.destroy(new Error(`no response for ${RESPONSE_TIMEOUT_MS} ms`)))
  const answered = new Promise<IncomingMessage>((resolve, reject) =>
    apiRequest.once('response', resolve).on('error', reject),
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
  // A failed pipeline also fails the request, which reports it.
  if (body === undefined) apiRequest.end()
  else pipeline(watched(body), apiRequest).catch(() => undefined)
  try {
    return await successful(await answered)
  } catch (cause) {
    const wasSent = body !== undefined && apiRequest.writableFinished
    apiRequest.destroy()
    if (bodyError !== undefined) throw bodyError
    if (cause instanceof Failure) throw cause
    const problem = wasSent
      ? `the console at ${url.origin} did not respond, so whether it carried out the request is unknown`
      : `cannot reach the console at ${url.origin}`
    throw new Failure(EXIT.failed, `${problem}: ${rootCause(cause)}`, { cause })
  }
}

async function successful(answer: IncomingMessage): Promise<IncomingMessage> {
  if (answer.statusCode === 200) return answer
  const text = await textOf(answer)
  throw new Failure(
    EXIT.failed,
    problemIn(text) ?? `the console responded ${answer.statusCode} ${answer.statusMessage}`,
  )
}

/** Reads a response as text. Stops after about `maxLength` characters. */
export async function textOf(answer: IncomingMessage, maxLength = MAX_TEXT_LENGTH): Promise<string> {
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) {
    text += chunk
    if (text.length > maxLength) break
  }
  return text
}

function problemIn(text: string): string | undefined {
  try {
    const problem: unknown = JSON.parse(text)
    if (typeof problem === 'object' && problem !== null && 'message' in problem) return String(problem.message)
  } catch {
    // The response is not one of a console.
  }
  return undefined
}

/**
 * Adds the command that works through the console to an `in-use` error of a directory. Returns other errors unchanged.
 */
export function runningStore(error: unknown, directory: string, task: string, command: string): unknown {
  if (!(error instanceof StateStoreError) || error.code !== 'in-use') return error
  const message =
    `${error.message}: its store is running. ${task} through its console (serve --console): ` +
    `rx-statestore ${command} --console <address of the console> --console-token-file ` +
    join(directory, CONSOLE_TOKEN_FILE)
  return new Failure(EXIT.failed, message, { cause: error })
}

/** The part of a store's state that only its console reports. Times are in ms. */
export interface StoreHealth {
  /** Time since the start; undefined while an attached store does not serve. */
  readonly uptime: number | undefined
  /** The state of an attached store. */
  readonly attached: AttachedFacts['state'] | undefined
  readonly keys: number
  readonly connections: number
  /** Number of connections, including clients that are not authenticated yet. */
  readonly networkConnections: number | undefined
  /** Number of refused connections since the store started. */
  readonly refusedConnections: number | undefined
  readonly refusedLogins: number | undefined
  readonly watches: number
  readonly frozen: boolean
  /** The time by which versions are ahead of the store's clock. */
  readonly drift: number
}

/** A console to query in addition to the broker, and the broker's URL if only the console knows it. */
export interface ConsoleLocation {
  readonly console: ConsoleAddress | undefined
  readonly url: { readonly url?: string }
}

/** Finds the console that flags or the environment name, and asks it for the broker's URL if they do not name one. */
export async function locateConsole(flags: ConnectionFlags & ConsoleFlags, { env }: Io): Promise<ConsoleLocation> {
  const console = consoleOf(flags, env)
  const byEnvironment = flags.console === undefined && (env[URL_VARIABLE] || urlsFromEnv(env))
  if (console === undefined || flags.url !== undefined || byEnvironment) return { console, url: {} }
  const facts: StoreFacts = JSON.parse(await textOf(await askConsole(console, 'store')))
  return { console, url: { url: facts.url } }
}

/** Queries a console for its store's state. */
export async function storeHealthOf(address: ConsoleAddress): Promise<StoreHealth> {
  const answer = await askConsole(address, 'stream')
  const { at, startedAt, keys, connections, watches, frozenUntil, drift = 0, ...rest } = await firstSample(answer)
  const uptime = startedAt === undefined ? undefined : at - startedAt
  const attached = rest.attached?.state
  const { networkConnections, refusedConnections, refusedLogins } = rest
  const refused = { networkConnections, refusedConnections, refusedLogins }
  const frozen = frozenUntil !== undefined
  return { uptime, attached, keys, connections, watches, ...refused, frozen, drift }
}

/** Reads an endless response up to its first sample. A console that has run for a while sends earlier rates first. */
async function firstSample(answer: IncomingMessage): Promise<StatsSample> {
  let rest = ''
  for await (const chunk of answer.setEncoding('utf8')) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) {
      const line: StreamLine = JSON.parse(text)
      if (line.type === 'pulse') return line
    }
  }
  throw new Failure(EXIT.failed, 'the console ended its response before the first sample')
}

const TOKEN_BYTES = 32
const OWNER_ONLY = 0o600
/** The form of a token. Generated tokens have 43 characters. */
const TOKEN = /^[\w-]{32,512}$/

/** Reads the token of a console from a file. Throws {@link Failure} if there is no token. */
export function readConsoleToken(file: string): string {
  const token = tokenTextOf(file, '--console-token-file')
  if (token === undefined) throw new Failure(EXIT.usage, `no console token in ${file}: no such file`)
  return checked(token, file)
}

/** The flags whose files have a token. */
type TokenFlag = '--console-token-file' | '--metrics-token-file'

/** Reads a token from a file, or creates the file with a random token. Rejects with {@link Failure}. */
export async function readOrCreateToken(file: string, flag: TokenFlag): Promise<string> {
  const existing = readToken(file, flag)
  if (existing !== undefined) return existing
  const token = Buffer.from(randomBytes(TOKEN_BYTES)).toString('base64url')
  try {
    // The file is renamed when it is complete, so that a crash leaves no partial file.
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
    throw new Failure(EXIT.failed, `cannot save the token of ${flag}: ${reason(cause)}`, { cause })
  }
  return token
}

/** Reads a token from a file, if the file exists. Throws {@link Failure} for a file without a token. */
export function readToken(file: string, flag: TokenFlag): string | undefined {
  const text = tokenTextOf(file, flag)
  return text === undefined ? undefined : checked(text, file)
}

function tokenTextOf(file: string, flag: TokenFlag): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new Failure(EXIT.usage, `cannot read the file of ${flag}: ${reason(cause)}`, { cause })
  }
}

function checked(token: string, file: string): string {
  if (TOKEN.test(token)) return token
  // The message does not quote the content, which may be another secret.
  throw new Failure(EXIT.usage, `no token in ${file}: expected one line of 32 or more letters, digits, - and _`)
}
