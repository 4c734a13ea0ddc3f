import { createServer } from 'node:http'
import { build, type Plugin } from 'vite'
import { listen } from './listen.js'

const at = (path: string): string => new URL(`../../${path}`, import.meta.url).pathname

const PACKAGE = [
  { find: /^rx-statestore$/, replacement: at('src/client/index.ts') },
  { find: /^rx-statestore\/optimistic$/, replacement: at('src/client/optimistic/index.ts') },
  { find: /^rx-statestore\/optimistic\/react$/, replacement: at('src/client/react/writable.ts') },
  { find: /^rx-statestore\/react$/, replacement: at('src/client/react/index.ts') },
]
/** The build of mqtt that bundlers choose for a browser. */
const MQTT = { find: /^mqtt$/, replacement: at('node_modules/mqtt/dist/mqtt.esm.js') }

/** The options for bundling a program. */
export interface BundleOptions {
  readonly plugins?: readonly Plugin[]
  /** Whether to bundle for Node, with external packages, instead of for a browser. Default `false`. */
  readonly isServer?: boolean
}

/**
 * Bundles a program in development mode, with all checks of the frameworks. The program can import this package by
 * name.
 */
export async function bundle(entry: string, { plugins = [], isServer = false }: BundleOptions = {}): Promise<string> {
  const built = await build({
    configFile: false,
    root: at('.'),
    logLevel: 'error',
    mode: 'development',
    define: isServer ? {} : { 'process.env.NODE_ENV': '"development"' },
    plugins: [...plugins],
    resolve: { alias: isServer ? PACKAGE : [...PACKAGE, MQTT] },
    build: { write: false, minify: false, target: 'es2022', ssr: isServer, rolldownOptions: { input: entry } },
  })
  const outputs = 'output' in built ? built.output : Array.isArray(built) ? built.flatMap(({ output }) => output) : []
  const [chunk, ...others] = outputs.filter(output => output.type === 'chunk')
  if (chunk === undefined || others.length > 0) throw new Error(`Expected one file of ${entry}, got ${outputs.length}`)
  return chunk.code
}

/** Serves a page that runs a program until the end of the test. Returns the address. */
export async function servePage(program: string, body = '<main id="root"></main>'): Promise<string> {
  const head = '<meta charset="utf-8"><title>A page</title><link rel="icon" href="data:,">'
  const page = `<!doctype html><html lang="en">${head}${body}<script type="module" src="/program.js"></script></html>`
  const server = createServer((request, response) => {
    const isProgram = request.url === '/program.js'
    response.setHeader('content-type', isProgram ? 'text/javascript' : 'text/html').end(isProgram ? program : page)
  })
  return `http://127.0.0.1:${await listen(server)}/`
}
