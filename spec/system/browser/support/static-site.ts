import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { extname, join, normalize } from 'node:path'
import { onTestFinished } from 'vitest'

const ROOT = new URL('../../../../', import.meta.url).pathname
const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' }

export interface StaticSite {
  readonly url: string
  readonly requested: readonly string[]
}

/** Returns the file that maps RxJS's UMD bundle to import names, as in docs/browser.md. */
export const rxjsModule = (): string =>
  `export const {${Object.keys(createRequire(import.meta.url)('rxjs'))}} = globalThis.rxjs`

/**
 * Serves the folder of a user with the package installed: `pages` by path, and `node_modules`. Is closed at the end of
 * the test.
 *
 * @param folder - of the built package
 */
export async function serveStatic(
  folder: string,
  pages: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<StaticSite> {
  const requested: string[] = []
  const server = createServer(async (request, response) => {
    const { pathname: asked } = new URL(request.url ?? '/', 'http://localhost')
    const pathname = asked === '/' ? '/index.html' : asked
    requested.push(pathname)
    const body = pages[pathname] ?? (await readFile(fileOf(folder, pathname)).catch(() => undefined))
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    response.setHeader('content-type', TYPES[extname(pathname)] ?? 'application/octet-stream')
    if (body === undefined) response.writeHead(404).end()
    else response.end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  return { url: `http://127.0.0.1:${port}/`, requested }
}

function fileOf(folder: string, pathname: string): string {
  const path = normalize(pathname)
  const own = '/node_modules/rx-statestore/'
  return path.startsWith(own) ? join(folder, path.slice(own.length)) : join(ROOT, path)
}
