import { mkdir, writeFile } from 'node:fs/promises'
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { onTestFinished } from 'vitest'
import { type ConsoleOptions, ConsoleServer } from '../../../src/server/console/console-server.js'
import type { AttachedStore, ServeOptions, StoreServer } from '../../../src/server/index.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openStore } from '../../support/open-store.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

/** A console and its store. Both close at the end of the test. */
export interface OpenConsole {
  readonly store: StoreServer
  readonly clock: ManualClock
  readonly server: ConsoleServer
  /** Sends a request with the token. A body that is neither a string nor bytes is sent as JSON. */
  callApi(path: string, body?: unknown): Promise<Response>
}

/** Opens a console for a store with a manual clock that starts at the clients' time. */
export async function openConsole(
  options: Partial<ConsoleOptions> & { readonly serve?: ServeOptions } = {},
): Promise<OpenConsole> {
  const clock = new ManualClock(Date.now())
  const { store } = await openStore({ ...options.serve, clock })
  return { store, clock, ...(await openConsoleOf(store, { clock, ...options })) }
}

/** Opens a console for an existing store. */
export async function openConsoleOf(
  store: StoreServer | AttachedStore,
  options: Partial<ConsoleOptions> = {},
): Promise<Pick<OpenConsole, 'server' | 'callApi'>> {
  const defaults = { host: '127.0.0.1', port: 0, seed: undefined, version: '1.2.3' }
  const server = await ConsoleServer.start(store, { ...defaults, ...options })
  onTestFinished(async () => server.close())
  const callApi = async (path: string, body?: unknown): Promise<Response> => {
    const init = body === undefined ? {} : { method: 'POST', body: bodyOf(body) }
    return fetch(new URL(path, server.url), { ...init, headers: { authorization: `Bearer ${server.token}` } })
  }
  return { server, callApi }
}

const bodyOf = (body: unknown): string | Uint8Array<ArrayBuffer> =>
  typeof body === 'string' || body instanceof Uint8Array ? new Uint8Array(Buffer.from(body)) : JSON.stringify(body)

/** Creates a folder with the given files, which is removed at the end of the test. */
export async function pageOf(files: Readonly<Record<string, string>>): Promise<URL> {
  const folder = temporaryFolder()
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
  return pathToFileURL(`${join(folder, 'page')}/`)
}

/** The response to a request that `fetch` would not send. */
export interface RawAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

/** Sends a request with the given path and headers unchanged. */
export const rawRequest = (
  { server }: { readonly server: { readonly url: string } },
  path: string,
  { method = 'GET', headers = {} }: { readonly method?: string; readonly headers?: OutgoingHttpHeaders } = {},
): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server.url)
    const asked = request(
      { hostname: hostname.replace(/^\[|\]$/g, ''), port, path, method, headers, agent: false },
      answer => {
        answer
          .toArray()
          .then(
            chunks =>
              resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: String(Buffer.concat(chunks)) }),
            reject,
          )
      },
    )
    asked.on('error', reject).end()
  })
