import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const SRC = new URL('../src', import.meta.url).pathname
const BASE = ['errors', 'check', 'bytes', 'clock', 'backoff', 'deadlines', 'fifo', 'slot-map']

/** The law: what each folder (or file at the top) may import besides itself. `base` stands for {@link BASE}. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  base: [],
  status: ['base'],
  hlc: ['base'],
  resp3: ['base'],
  protocol: ['base', 'hlc', 'resp3'],
  packet: ['base'],
  mqtt: ['base', 'packet'],
  rpc: ['base', 'mqtt'],
  store: ['base', 'hlc', 'protocol', 'rpc'],
  keys: ['base', 'hlc', 'protocol', 'mqtt', 'store'],
  lease: ['base', 'hlc', 'store', 'keys'],
  client: ['base', 'protocol', 'mqtt', 'rpc', 'store', 'keys', 'lease', 'status'],
  operators: ['base', 'keys'],
  connect: ['base', 'mqtt', 'keys', 'client'],
  index: ['base', 'hlc', 'mqtt', 'keys', 'lease', 'operators', 'status', 'client', 'connect'],
  engine: ['base', 'hlc', 'protocol'],
  server: ['base', 'protocol', 'engine'],
  broker: ['base', 'packet'],
  dump: ['base', 'hlc'],
  standalone: ['base', 'hlc', 'protocol', 'dump', 'engine', 'server', 'broker'],
  console: ['base', 'dump', 'standalone'],
  settings: ['base', 'connect'],
  react: ['base', 'store', 'keys', 'client', 'status'],
  'pubsub/wire': ['base'],
  'pubsub/client': ['base', 'pubsub/wire'],
  'pubsub/index': ['base', 'pubsub/wire', 'pubsub/client'],
  'pubsub/hub': ['base', 'pubsub/wire'],
  'pubsub/server': ['base', 'pubsub/wire', 'pubsub/hub'],
  bridge: ['base', 'hlc', 'keys', 'client', 'pubsub/wire', 'pubsub/hub'],
  cli: [
    'base',
    'hlc',
    'protocol',
    'keys',
    'client',
    'connect',
    'index',
    'dump',
    'standalone',
    'console',
    'settings',
    'status',
  ],
}

/** Packages and the only places that may import them; types are free where they are part of the public face. */
const PACKAGES: Record<string, readonly string[]> = {
  mqtt: ['mqtt/mqttjs-session.ts', 'mqtt/publisher.ts'],
  aedes: ['broker/intercepting-aedes.ts'],
  react: ['react/use-key.ts', 'react/use-status.ts'],
  ws: ['broker/listeners.ts', 'pubsub/hub/pubsub-server.ts', 'pubsub/client/ws-socket.ts'],
}

const NODE_ONLY = [
  'broker',
  'dump',
  'standalone',
  'console',
  'settings',
  'cli',
  'pubsub/hub',
  'pubsub/server',
  'bridge',
]
const WITHOUT_RXJS = ['base', 'hlc', 'resp3', 'protocol', 'engine', 'packet', 'mqtt', 'rpc', 'dump', 'pubsub/wire']

interface Import {
  readonly from: string
  readonly target: string
  readonly typeOnly: boolean
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts'))
  .map(file => file.replaceAll('\\', '/'))
const sourceOf = (file: string): string => readFileSync(join(SRC, file), 'utf8')
const codeOf = (file: string): string => sourceOf(file).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/g
const imports: Import[] = files.flatMap(from =>
  Array.from(codeOf(from).matchAll(IMPORT), match => ({
    from,
    target: match[2] ?? match[3] ?? '',
    typeOnly: match[1] !== undefined,
  })),
)
const relatives = imports
  .filter(({ target }) => target.startsWith('.'))
  .map(entry => ({ ...entry, target: normalize(join(dirname(entry.from), entry.target)).replace(/\.js$/, '.ts') }))

function layerOf(file: string): string {
  const [top = '', ...rest] = file.split('/')
  if (top === 'pubsub') return `pubsub/${layerOf(rest.join('/'))}`
  const name = rest.length > 0 ? top : top.replace(/\.ts$/, '')
  return BASE.includes(name) ? 'base' : name
}

describe('the architecture', () => {
  it('has a law for every folder and file', () => {
    expect([...new Set(files.map(layerOf))].filter(layer => !(layer in MAY_IMPORT))).toEqual([])
  })

  it('has no import the law forbids', () => {
    const forbidden = relatives.filter(({ from, target }) => {
      const [layer, other] = [layerOf(from), layerOf(target)]
      return layer !== other && !MAY_IMPORT[layer]?.includes(other)
    })
    expect(forbidden.map(({ from, target }) => `${from} -> ${target}`)).toEqual([])
  })

  it('has no import cycle', () => {
    const edges = new Map(
      files.map(file => [file, relatives.filter(({ from }) => from === file).map(({ target }) => target)]),
    )
    const cycles: string[] = []
    const done = new Set<string>()
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
      if (path.includes(file) || done.has(file)) return
      for (const target of edges.get(file) ?? []) visit(target, [...path, file])
      done.add(file)
    }
    for (const file of files) visit(file, [])
    expect(cycles).toEqual([])
  })

  it('finds the imports it judges', () => {
    expect(relatives).toContainEqual({ from: 'hlc/hlc-clock.ts', target: 'hlc/hlc.ts', typeOnly: false })
    expect(relatives.every(({ target }) => files.includes(target))).toBe(true)
    expect(relatives.length).toBeGreaterThan(50)
  })

  it.each(Object.entries(PACKAGES))('imports %s in its own place only', (name, places) => {
    const users = imports.filter(({ target, typeOnly }) => target === name && !typeOnly).map(({ from }) => from)
    expect(places).toEqual(expect.arrayContaining([...new Set(users)]))
  })

  it('keeps Node out of the isomorphic part', () => {
    const isomorphic = files.filter(file => !NODE_ONLY.includes(layerOf(file)))
    const nodeImports = imports.filter(({ from, target }) => isomorphic.includes(from) && target.startsWith('node:'))
    const nodeGlobals = isomorphic.filter(file => /\b(Buffer|process|__dirname|require)\b/.test(codeOf(file)))
    expect({ nodeImports, nodeGlobals }).toEqual({ nodeImports: [], nodeGlobals: [] })
  })

  it('keeps RxJS out of the pure part', () => {
    const users = imports.filter(({ target }) => target === 'rxjs').map(({ from }) => from)
    expect(users.filter(file => WITHOUT_RXJS.includes(layerOf(file)) || file === 'keys/reconcile.ts')).toEqual([])
    expect(imports.filter(({ target }) => /^rxjs\//.test(target))).toEqual([])
  })

  it('asks for time and chance in one place each', () => {
    const clocks =
      /\b(Date\.now|new Date\(\)|performance\.now|(?<!socket\.)setTimeout|setInterval|setImmediate|queueMicrotask)\b/
    const offenders = files.filter(
      file =>
        (clocks.test(codeOf(file)) && file !== 'clock.ts') ||
        (/\bMath\.random\b/.test(codeOf(file)) && file !== 'backoff.ts'),
    )
    expect(offenders).toEqual([])
  })

  it('keeps files small', () => {
    const large = files.filter(file => sourceOf(file).split('\n').length > 300)
    expect(large.map(file => relative('.', file))).toEqual([])
  })

  it('has no default export, no export of everything and no cast that silences the compiler', () => {
    const offenders = files.filter(file =>
      /export default|export \*|\bas (any|never|unknown)\b|@ts-/.test(codeOf(file)),
    )
    expect(offenders).toEqual([])
  })
})
