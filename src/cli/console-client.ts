import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { pipeline } from 'node:stream/promises'
import type { Environment } from '../node/settings.js'
import { contentOf } from './connection.js'
import { readConsoleToken } from './console-token.js'
import { EXIT, Failure, rootCause } from './failure.js'
import type { ConsoleFlags } from './flags.js'

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
