import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = new URL('..', import.meta.url).pathname
const SRC = join(ROOT, 'src')
const SPEC = join(ROOT, 'spec')

/** A file has one subject and is as long as that takes; one that is longer than this has its reason in `LARGE`. */
const MAX_LINES = 400
/** Models of a whole world, whose parts depend on one another. */
const LARGE = ['spec/server/broker/simulation/oracle.ts', 'spec/simulation/world.ts']

/** The law: what each folder (or entry point at the top) may import besides itself. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  base: [],
  awaitable: [],
  hlc: ['base'],
  resp3: ['base'],
  protocol: ['base', 'hlc', 'resp3'],
  packet: ['base'],
  // What broker and store both say of a client, so that neither has to know the other, nor anybody to translate.
  peer: ['packet'],
  mqtt: ['base', 'packet'],
  rpc: ['base', 'mqtt'],
  commands: ['base', 'hlc', 'protocol', 'rpc'],
  keys: ['base', 'awaitable', 'hlc', 'protocol', 'mqtt', 'rpc', 'commands'],
  lease: ['base', 'hlc', 'protocol', 'commands', 'keys', 'client'],
  client: ['base', 'protocol', 'mqtt', 'rpc', 'commands', 'keys'],
  operators: ['base', 'keys'],
  matching: ['base', 'hlc', 'protocol', 'keys'],
  // Writes go past the handle of a key, which knows neither what the watch told nor where a read belongs.
  optimistic: ['base', 'awaitable', 'hlc', 'protocol', 'commands', 'keys'],
  shadow: ['base', 'awaitable', 'hlc', 'keys', 'optimistic'],
  // The storage of its writes that only Node has.
  'optimistic-file': ['base', 'optimistic'],
  // A client of two sides: keys by the client's face, topics by a session of its own.
  retained: ['base', 'hlc', 'keys', 'mqtt', 'client', 'matching'],
  index: ['base', 'awaitable', 'hlc', 'mqtt', 'rpc', 'keys', 'operators', 'client'],
  engine: ['base', 'hlc', 'protocol'],
  log: ['base', 'hlc', 'protocol', 'engine'],
  disk: ['base', 'engine', 'log'],
  // The log of several nodes behind a port: it knows what nodes share, and nobody who provides it.
  cluster: ['base', 'hlc', 'engine', 'log'],
  // The one that provides it, and the only place that knows NATS.
  jetstream: ['base', 'cluster'],
  server: ['base', 'protocol', 'packet', 'peer', 'engine', 'log'],
  broker: ['base', 'packet', 'peer', 'tls', 'listeners'],
  tls: ['base'],
  listeners: ['base'],
  identity: ['base', 'packet'],
  policy: ['base', 'engine'],
  dump: ['base', 'hlc'],
  // A client to its broker, a store to the clients behind it, and a node when it has a log with others; `attach` itself is
  // shown beside `serve`.
  attach: [
    'base',
    'cluster',
    'protocol',
    'packet',
    'peer',
    'mqtt',
    'client',
    'dump',
    'engine',
    'server',
    'listeners',
    'policy',
    'standalone',
  ],
  standalone: [
    'attach',
    'base',
    'cluster',
    'hlc',
    'protocol',
    'packet',
    'peer',
    'dump',
    'engine',
    'log',
    'disk',
    'server',
    'broker',
    'tls',
    'listeners',
    'identity',
    'policy',
  ],
  console: ['base', 'dump', 'tls', 'listeners', 'standalone'],
  settings: ['base', 'client'],
  react: ['base', 'protocol', 'keys', 'client', 'matching', 'optimistic'],
  'pubsub/wire': ['base'],
  'pubsub/client': ['base', 'awaitable', 'pubsub/wire'],
  'pubsub/index': ['base', 'awaitable', 'pubsub/wire', 'pubsub/client'],
  'pubsub/hub': ['base', 'tls', 'listeners', 'pubsub/wire'],
  'pubsub/server': ['base', 'listeners', 'pubsub/wire', 'pubsub/hub'],
  bridge: ['base', 'hlc', 'keys', 'client', 'pubsub/wire', 'pubsub/hub'],
  cli: [
    'base',
    'hlc',
    'protocol',
    'keys',
    'client',
    'lease',
    'matching',
    'retained',
    'index',
    'dump',
    'tls',
    'identity',
    'policy',
    'standalone',
    'jetstream',
    'console',
    'settings',
  ],
}

/** Packages and the only places that may import them; types are free where they are part of the public face. */
const PACKAGES: Record<string, readonly string[]> = {
  mqtt: ['mqtt/open-session.ts', 'mqtt/reason-words.ts'],
  react: [
    'react/use-key.ts',
    'react/use-keys.ts',
    'react/use-selected.ts',
    'react/use-status.ts',
    'react/use-writable-key.ts',
  ],
  '@nats-io/transport-node': ['jetstream/packages.ts'],
  '@nats-io/jetstream': ['jetstream/packages.ts'],
  '@nats-io/obj': ['jetstream/packages.ts'],
  yaml: ['policy/document.ts'],
  jose: ['pubsub/hub/tokens.ts', 'identity/tokens.ts'],
  ws: ['broker/listeners.ts', 'pubsub/hub/pubsub-server.ts', 'pubsub/client/ws-socket.ts'],
}

const NODE_ONLY = [
  'disk',
  'cluster',
  'jetstream',
  'broker',
  'tls',
  'listeners',
  'identity',
  'policy',
  'dump',
  'standalone',
  'attach',
  'console',
  'settings',
  'optimistic-file',
  'cli',
  'pubsub/hub',
  'pubsub/server',
  'bridge',
]
const WITHOUT_RXJS = [
  'base',
  'hlc',
  'resp3',
  'protocol',
  'engine',
  'log',
  'packet',
  'peer',
  'mqtt',
  'rpc',
  'dump',
  'pubsub/wire',
]

interface Import {
  readonly from: string
  readonly target: string
  readonly typeOnly: boolean
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts'))
  .map(file => file.replaceAll('\\', '/'))
const sourceOf = (file: string): string => readFileSync(join(SRC, file), 'utf8')
const linesOf = (path: string): number => readFileSync(path, 'utf8').trimEnd().split('\n').length
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
  return rest.length > 0 ? top : top.replace(/\.ts$/, '')
}

/** All of `spec`, without the packages that the other runtimes bring along. */
function specs(): readonly string[] {
  return readdirSync(SPEC, { withFileTypes: true })
    .filter(({ name }) => name !== 'runtimes')
    .flatMap(entry => (entry.isDirectory() ? namesIn(entry.name) : [entry.name]))
    .filter(file => file.endsWith('.ts'))
    .map(file => join(SPEC, file))
}

const namesIn = (folder: string): readonly string[] =>
  readdirSync(join(SPEC, folder), { recursive: true, encoding: 'utf8' }).map(file => join(folder, file))

describe('the architecture', () => {
  it('has a law for every folder and file', () => {
    expect([...new Set(files.map(layerOf))].filter(layer => !(layer in MAY_IMPORT))).toEqual([])
  })

  it('shows entry points alone at the root', () => {
    expect(files.filter(file => !file.includes('/'))).toEqual(['index.ts', 'settings.ts', 'standalone.ts'])
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

  it.each(['pubsub/hub/hub-engine.ts', 'pubsub/client/machine.ts'])(
    'keeps %s free of network, timers and RxJS',
    core => {
      const needed = new Set([core])
      for (const file of needed) for (const { from, target } of relatives) if (from === file) needed.add(target)
      const packages = imports.filter(({ from, target }) => needed.has(from) && !target.startsWith('.'))
      expect([packages, needed.has('base/clock.ts'), needed.size > 10]).toEqual([[], false, true])
    },
  )

  it('asks for time and chance in one place each', () => {
    const clocks =
      /\b(Date\.now|new Date\(\)|performance\.now|(?<!socket\.)setTimeout|setInterval|setImmediate|queueMicrotask)\b/
    const offenders = files.filter(
      file =>
        (clocks.test(codeOf(file)) && file !== 'base/clock.ts') ||
        (/\bMath\.random\b/.test(codeOf(file)) && file !== 'base/backoff.ts'),
    )
    expect(offenders).toEqual([])
  })

  it('has no file of more than 400 lines without a reason', () => {
    const all = [...files.map(file => join(SRC, file)), ...specs()]
    const large = all.filter(file => linesOf(file) > MAX_LINES).map(file => relative(ROOT, file))
    expect(large.sort()).toEqual(LARGE)
  })

  it('has no default export, no export of everything and no cast that silences the compiler', () => {
    const offenders = files.filter(file =>
      /export default|export \*|\bas (any|never|unknown)\b|@ts-/.test(codeOf(file)),
    )
    expect(offenders).toEqual([])
  })
})
