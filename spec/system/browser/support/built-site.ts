import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { onTestFinished } from 'vitest'

/** The documentation site, as `npm run docs` builds it. */
const DIST = new URL('../../../../site/dist/', import.meta.url).pathname
const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

/** Serves the documentation site like a host of static pages. Is closed at the end of the test. Returns its URL. */
export async function serveBuiltSite(): Promise<string> {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const path = normalize(pathname.endsWith('/') ? `${pathname}index.html` : pathname)
    const body = await readFile(join(DIST, path)).catch(() => undefined)
    response.setHeader(
      'content-type',
      TYPES[body === undefined ? '.html' : extname(path)] ?? 'application/octet-stream',
    )
    response.writeHead(body === undefined ? 404 : 200).end(body ?? (await readFile(join(DIST, '404.html'))))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  const address = server.address()
  return `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`
}
