import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = new URL('..', import.meta.url).pathname
const SRC = join(ROOT, 'src')
const SPEC = join(ROOT, 'spec')

/**
 * The maximum length of a file, in lines. A file has one subject. Longer files are listed in `LARGE` with the reason.
 */
const MAX_LINES = 400
/** Models of a whole world, whose parts depend on one another. */
const LARGE = ['spec/server/broker/simulation/oracle.ts']

/**
 * The rules for imports. A file may import from its own folder, from the folders listed before its own folder in the
 * same room, and from the rooms in `imports`. `.` is the room itself, with its entry points.
 */
const ROOMS: Readonly<Record<string, { readonly imports: readonly string[]; readonly folders: readonly string[] }>> = {
  core: { imports: [], folders: ['util', 'hlc', 'resp3', 'protocol', 'mqtt5', 'diagnostics'] },
  client: {
    imports: ['core'],
    folders: [
      ...['session', 'requests', 'watch', 'keys', 'connect', '.'],
      ...['lease', 'matching', 'optimistic', 'shadow', 'retained', 'react'],
    ],
  },
  node: { imports: ['core', 'client'], folders: ['limits', 'net', 'dump', '.'] },
  server: {
    imports: ['core', 'client', 'node'],
    folders: [
      ...['engine', 'log', 'log/disk', 'log/cluster', 'log/jetstream', 'service'],
      ...['broker/limits', 'broker/routing', 'broker/session', 'broker/core', 'broker/transport', 'broker'],
      ...['access', 'storage', 'host', 'attach', 'metrics', 'console', '.'],
    ],
  },
  pubsub: { imports: ['core', 'client', 'node'], folders: ['wire', 'client', 'hub', 'bridge'] },
  opentelemetry: { imports: ['core'], folders: ['.'] },
  cli: { imports: ['core', 'client', 'node', 'server'], folders: ['.'] },
}

/** Imports that the order of the folders permits but the subjects of the folders forbid, with the reasons. */
const APART: readonly (readonly [importer: RegExp, imported: RegExp, reason: string])[] = [
  [/^server\/(?!attach\/)/, /^client\//, 'only an attached store is a client of a broker'],
  [/^server\/broker\//, /^server\/(engine|log|service)\//, 'the broker knows no store'],
  [/^server\/(engine|log|service)\//, /^(node|server\/broker)\//, 'the store knows no broker and no sockets'],
  [/^pubsub\/(wire|client|hub)\//, /^client\//, 'pub/sub knows no keys; the bridge knows both'],
  [/^pubsub\/(wire|client)\//, /^node\//, 'a client of pub/sub runs in browsers'],
  [/^node\/(limits|net|dump)\//, /^client\//, 'only settings and the storage of writes are for a client'],
]

/**
 * Packages, and the only places that may import them. Types may be imported anywhere if they are part of the public
 * API.
 */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  mqtt: /^client\/session\/(open-session|reasons)\.ts$/,
  react: /^client\/react\/(use-[\w-]+|writable)\.ts$/,
  '@nats-io/transport-node': /^server\/log\/jetstream\/packages\.ts$/,
  '@nats-io/jetstream': /^server\/log\/jetstream\/packages\.ts$/,
  '@nats-io/obj': /^server\/log\/jetstream\/packages\.ts$/,
  '@opentelemetry/api': /^opentelemetry\//,
  'prom-client/lib/registry.js': /^server\/metrics\/registry\.ts$/,
  yaml: /^server\/access\/yaml-file\.ts$/,
  jose: /^(pubsub\/hub\/tokens|server\/access\/token(s|-keys))\.ts$/,
  ws: /^(server\/broker\/transport\/listeners|pubsub\/hub\/upgrade|pubsub\/client\/ws-socket)\.ts$/,
}

/** The files that also run in browsers. */
const ISOMORPHIC =
  /^(core|client|opentelemetry|pubsub\/(wire|client)|server\/(engine|log|service))\/(?!disk\/|cluster\/|jetstream\/)/
/** The files without observables. In `core`, only the awaitable request is an observable. */
const WITHOUT_RXJS =
  /^(core\/(?!util\/awaitable)|client\/session\/|client\/watch\/reconcile|node\/dump\/|pubsub\/wire\/|server\/(engine|log)\/[\w-]+\.ts)/

interface Import {
  readonly from: string
  readonly target: string
  readonly typeOnly: boolean
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts'))
  .map(file => file.replaceAll('\\', '/'))
const linesOf = (path: string): number => readFileSync(path, 'utf8').trimEnd().split('\n').length
const codeOf = (file: string): string =>
  readFileSync(join(SRC, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')

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

const roomOf = (file: string): string => file.split('/', 1)[0] ?? ''

/** Returns the position of a file's folder in its room, from the bottom up. The most specific folder name applies. */
function floorOf(file: string): number {
  const folder = relative(roomOf(file), dirname(file)) || '.'
  const folders = ROOMS[roomOf(file)]?.folders ?? []
  const names = folders.filter(name => folder === name || folder.startsWith(`${name}/`))
  return folders.indexOf(names.sort((a, b) => b.length - a.length)[0] ?? '')
}

/** Returns all files in `spec` except packages of other runtimes. */
function specs(folder = SPEC): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules')
    .flatMap(entry => (entry.isDirectory() ? specs(join(folder, entry.name)) : [join(folder, entry.name)]))
    .filter(file => file.endsWith('.ts'))
}

/** Returns the cycles of a graph, each as the path that closes the cycle. */
function cyclesOf(edges: ReadonlyMap<string, Iterable<string>>): readonly string[] {
  const cycles: string[] = []
  const done = new Set<string>()
  const visit = (node: string, path: readonly string[]): void => {
    if (path.includes(node)) cycles.push([...path.slice(path.indexOf(node)), node].join(' -> '))
    if (path.includes(node) || done.has(node)) return
    for (const target of edges.get(node) ?? []) visit(target, [...path, node])
    done.add(node)
  }
  for (const node of edges.keys()) visit(node, [])
  return cycles
}

function graph(nodeOf: (file: string) => string): ReadonlyMap<string, Set<string>> {
  const edges = new Map<string, Set<string>>(files.map(file => [nodeOf(file), new Set()]))
  for (const { from, target } of relatives)
    if (nodeOf(from) !== nodeOf(target)) edges.get(nodeOf(from))?.add(nodeOf(target))
  return edges
}

/** Returns the imports between all files in folders of the repository, by their paths from its root. */
function importsBetween(folders: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const names = folders.flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => /\.(ts|tsx|js)$/.test(name) && !/(^|\/)(node_modules|target|dist)\//.test(name))
      .map(name => join(folder, name)),
  )
  const known = new Set(names)
  const targetsOf = (name: string): string[] =>
    Array.from(codeOf(join('..', name)).matchAll(IMPORT), match => match[2] ?? match[3] ?? '')
      .filter(target => target.startsWith('.'))
      .flatMap(target => {
        const path = join(dirname(name), target)
        return [path, path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx')].filter(
          one => known.has(one) && one !== name,
        )
      })
  return new Map(names.map(name => [name, targetsOf(name)]))
}

describe('the architecture', () => {
  it('lists every folder in its rules', () => {
    expect(files.filter(file => floorOf(file) < 0)).toEqual([])
  })

  it('permits no import from a later folder or from a room that is not listed', () => {
    const forbidden = relatives.filter(({ from, target }) =>
      roomOf(from) === roomOf(target)
        ? floorOf(from) < floorOf(target)
        : !ROOMS[roomOf(from)]?.imports.includes(roomOf(target)),
    )
    expect(forbidden.map(({ from, target }) => `${from} -> ${target}`)).toEqual([])
  })

  it.each(APART)('ensures that %s does not import %s, because %s', (importer, imported) => {
    const forbidden = relatives.filter(({ from, target }) => importer.test(from) && imported.test(target))
    expect(forbidden.map(({ from, target }) => `${from} -> ${target}`)).toEqual([])
    expect(files.some(file => importer.test(file)) && files.some(file => imported.test(file))).toBe(true)
  })

  it('has no import cycles between files', () => {
    expect(cyclesOf(graph(file => file))).toEqual([])
  })

  it('the files of specs, chaos runs, the console and the benchmarks have no import cycles', () => {
    expect(cyclesOf(importsBetween(['src', 'spec', 'chaos', 'console', 'bench', 'scripts']))).toEqual([])
  })

  it('has no import cycles between folders', () => {
    expect(cyclesOf(graph(dirname))).toEqual([])
  })

  it('is checked by a test that detects imports and cycles', () => {
    expect(relatives).toContainEqual({
      from: 'core/mqtt5/topic.ts',
      target: 'core/mqtt5/packet-error.ts',
      typeOnly: false,
    })
    expect(relatives.filter(({ target }) => !files.includes(target))).toEqual([])
    expect(
      cyclesOf(
        new Map([
          ['a', ['b']],
          ['b', ['a']],
        ]),
      ),
    ).toEqual(['a -> b -> a'])
  })

  it.each(Object.entries(PACKAGES))('permits imports of %s only in the listed files', (name, place) => {
    const users = imports.filter(({ target, typeOnly }) => target === name && !typeOnly).map(({ from }) => from)
    expect(users.filter(file => !place.test(file))).toEqual([])
  })

  it('has no Node.js APIs in the isomorphic files', () => {
    const isomorphic = files.filter(file => ISOMORPHIC.test(file))
    const nodeImports = imports.filter(({ from, target }) => isomorphic.includes(from) && target.startsWith('node:'))
    // The channels, warnings and socket defaults of the runtime are optional there.
    const isOptional = (file: string): boolean =>
      /^(core\/diagnostics\/(channel|subscriber-error)|client\/session\/node-net)\.ts$/.test(file)
    const nodeGlobals = isomorphic.filter(
      file => /\b(Buffer|process|__dirname|require)\b/.test(codeOf(file)) && !isOptional(file),
    )
    expect({ nodeImports, nodeGlobals }).toEqual({ nodeImports: [], nodeGlobals: [] })
  })

  it('has no RxJS in the files without observables', () => {
    const users = imports.filter(({ target }) => target === 'rxjs').map(({ from }) => from)
    expect(users.filter(file => WITHOUT_RXJS.test(file))).toEqual([])
    expect(imports.filter(({ target }) => /^rxjs\//.test(target))).toEqual([])
  })

  it.each(['pubsub/hub/hub-engine.ts', 'pubsub/client/client-state-machine.ts'])(
    'keeps %s free of network, timers and RxJS',
    pure => {
      const needed = new Set([pure])
      for (const file of needed) for (const { from, target } of relatives) if (from === file) needed.add(target)
      const packages = imports.filter(({ from, target }) => needed.has(from) && !target.startsWith('.'))
      expect([packages, needed.has('core/util/clock.ts'), needed.size > 10]).toEqual([[], false, true])
    },
  )

  it('permits reading time only in the clock and random numbers only in the backoff', () => {
    const clocks =
      /\b(Date\.now|new Date\(\)|performance\.now|(?<!socket\.)setTimeout|setInterval|setImmediate|queueMicrotask)\b/
    const offenders = files.filter(
      file =>
        (clocks.test(codeOf(file)) && file !== 'core/util/clock.ts') ||
        (/\bMath\.random\b/.test(codeOf(file)) && file !== 'core/util/backoff.ts'),
    )
    expect(offenders).toEqual([])
  })

  it('compares built-in classes only where values of another realm are accepted', () => {
    const classes = /instanceof (Uint8Array|ArrayBuffer|Error|AggregateError|Date|Map|Set|RegExp|Array|Object)\b/
    const offenders = files.filter(file => classes.test(codeOf(file)) && !/^cli\//.test(file))
    expect(offenders).toEqual(['core/util/built-in-types.ts'])
  })

  it('has no file of more than 400 lines without a reason', () => {
    const all = [...files.map(file => join(SRC, file)), ...specs()]
    const large = all.filter(file => linesOf(file) > MAX_LINES).map(file => relative(ROOT, file))
    expect(large.sort()).toEqual(LARGE)
  })

  it('has no default export, no wildcard export and no cast that silences the compiler', () => {
    const offenders = files.filter(file =>
      /export default|export \*|\bas (any|never|unknown)\b|@ts-/.test(codeOf(file)),
    )
    expect(offenders).toEqual([])
  })
})
