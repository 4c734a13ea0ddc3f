import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { Cable } from './cable.js'

const PAGE = fileURLToPath(new URL('./page/', import.meta.url))

/**
 * The content security policy. It forbids external sources, and allows the worker that mqtt.js creates for its
 * keep-alive.
 */
const POLICY = "default-src 'self'; img-src 'self' data:; worker-src blob:; object-src 'none'; base-uri 'none'"

const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript', css: 'text/css', woff2: 'font/woff2' }

/**
 * Serves the page and forwards its WebSocket to the store, both at one address. Rejects with the system's error if the
 * port is in use.
 *
 * @param {{ host: string, port: number, wsUrl: string }} options
 */
export async function openSite({ host, port, wsUrl }) {
  const files = await buildPage()
  const cable = new Cable(wsUrl)
  const server = createServer((request, response) => {
    const [path = '/'] = (request.url ?? '/').split('?')
    const file = files.get(path === '/' ? '/index.html' : path)
    response.setHeader('content-security-policy', POLICY).setHeader('cache-control', 'no-store')
    if (file === undefined) response.writeHead(404).end()
    else response.setHeader('content-type', file.type).end(request.method === 'HEAD' ? undefined : file.body)
  })
  server.on('upgrade', (request, socket, head) => cable.forward(request, socket, head))
  await new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => resolve(undefined))
  })
  const address = server.address()
  return {
    cable,
    port: typeof address === 'object' ? (address?.port ?? port) : port,
    close: () => {
      cable.cut()
      server.closeAllConnections()
      return new Promise(resolve => server.close(resolve))
    },
  }
}

/** Bundles the page, in memory. */
async function buildPage() {
  const built = await build({
    root: PAGE,
    base: './',
    configFile: false,
    logLevel: 'warn',
    build: {
      write: false,
      modulePreload: false,
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
      assetsInlineLimit: 0,
      // Rolldown would print a warning on a slow machine.
      rolldownOptions: { checks: { pluginTimings: false } },
    },
  })
  if (!Array.isArray(built) && !('output' in built)) throw new Error('the build has no output')
  const output = Array.isArray(built) ? built.flatMap(part => part.output) : built.output
  return new Map(
    output.map(file => {
      const type = Object.entries(TYPES).find(([extension]) => file.fileName.endsWith(`.${extension}`))?.[1]
      const body = file.type === 'chunk' ? file.code : file.source
      return [`/${file.fileName}`, { type: type ?? 'application/octet-stream', body }]
    }),
  )
}
