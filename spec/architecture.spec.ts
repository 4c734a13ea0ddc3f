import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = new URL('..', import.meta.url).pathname
const SRC = join(ROOT, 'src')

/**
 * The maximum length of a file, in lines. A file has one subject. Longer files are listed in `LARGE` with the reason.
 */
const MAX_LINES = 400
/** Models of a whole world, whose parts depend on one another. */
const LARGE = ['spec/server/broker/simulation/oracle.ts']

/**
 * The rules for imports. A file may import from its own folder, from the folders listed before its own folder in the
 * same room, and from the rooms in `imports`. `.` is the room itself, with its entry points. A room is a folder of
 * `src`, or one of `BESIDE`.
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
  scripts: { imports: [], folders: ['.', 'walk', 'pictures'] },
  harness: { imports: ['core', 'server'], folders: ['judges', '.'] },
  chaos: { imports: ['server', 'scripts', 'harness'], folders: ['.', 'cluster', 'soak', 'pubsub'] },
  sweep: { imports: ['core', 'server', 'pubsub', 'harness'], folders: ['process', 'scene', 'rows', '.'] },
  console: {
    imports: ['core', 'client', 'server', 'scripts'],
    folders: ['src/model', 'src/api', 'src/state', 'src/view/parts', 'src/view', 'src', 'public', '.'],
  },
  bench: { imports: ['scripts'], folders: ['support', 'clients', 'raw', 'peers', 'broker', 'cluster', '.'] },
  spec: {
    imports: [
      ...['core', 'client', 'node', 'server', 'pubsub', 'opentelemetry', 'cli'],
      ...['scripts', 'harness', 'chaos', 'sweep', 'console'],
    ],
    folders: [
      ...['support', 'cases', 'suites', 'simulation/worlds', 'pubsub/support'],
      ...['core', 'client', 'node', 'opentelemetry', 'pubsub', 'server/log', 'fixtures', 'server', 'cli', 'types'],
      ...['simulation', 'mutants', 'judges', 'chaos', 'sweep', 'system', '.'],
    ],
  },
}
/** The rooms beside `src`. */
const BESIDE = ['scripts', 'harness', 'chaos', 'sweep', 'console', 'bench', 'spec']

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

/** Returns the code files of a folder, except packages and build outputs. */
const codeIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(file => file.replaceAll('\\', '/'))
    .filter(file => /\.(ts|tsx|js)$/.test(file) && !/(^|\/)(node_modules|target|dist)\//.test(file))

/** The files of the rooms in `src` and of the rooms beside it, by the name of their room. */
const files = codeIn(SRC)
const filesBeside = BESIDE.flatMap(room => codeIn(join(ROOT, room)).map(file => `${room}/${file}`))
const known = new Set([...files, ...filesBeside])
const linesOf = (path: string): number => readFileSync(path, 'utf8').trimEnd().split('\n').length
const roomOf = (file: string): string => file.split('/', 1)[0] ?? ''
const pathOf = (file: string): string => (BESIDE.includes(roomOf(file)) ? file : `src/${file}`)
const codeOf = (file: string): string =>
  readFileSync(join(ROOT, pathOf(file)), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/g
const importsOf = (from: string): Import[] =>
  Array.from(codeOf(from).matchAll(IMPORT), match => ({
    from,
    target: match[2] ?? match[3] ?? '',
    typeOnly: match[1] !== undefined,
  }))

/** Returns the imported file by its name here, or its path if it is in no room. */
function fileAt(path: string): string {
  const name = path.replace(/^src\//, '')
  return [name, name.replace(/\.js$/, '.ts'), name.replace(/\.js$/, '.tsx')].find(one => known.has(one)) ?? path
}

const relativesOf = (all: readonly Import[]): readonly Import[] =>
  all
    .filter(({ target }) => target.startsWith('.'))
    .map(entry => ({ ...entry, target: fileAt(normalize(join(dirname(pathOf(entry.from)), entry.target))) }))

const imports = files.flatMap(importsOf)
const relatives = relativesOf(imports)
/** All imports between rooms. Specs and scripts also import data, examples and the built package. */
const everywhere = [
  ...relatives,
  ...relativesOf(filesBeside.flatMap(importsOf)).filter(({ from, target }) => known.has(target) && from !== target),
]

/** Returns the position of a file's folder in its room, from the bottom up. The most specific folder name applies. */
function floorOf(file: string): number {
  const folder = relative(roomOf(file), dirname(file)) || '.'
  const folders = ROOMS[roomOf(file)]?.folders ?? []
  const names = folders.filter(name => folder === name || folder.startsWith(`${name}/`))
  return folders.indexOf(names.sort((a, b) => b.length - a.length)[0] ?? '')
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
  const edges = new Map<string, Set<string>>(Array.from(known, file => [nodeOf(file), new Set()]))
  for (const { from, target } of everywhere)
    if (nodeOf(from) !== nodeOf(target)) edges.get(nodeOf(from))?.add(nodeOf(target))
  return edges
}

describe('the architecture', () => {
  it('lists every folder in its rules', () => {
    expect(Array.from(known).filter(file => floorOf(file) < 0)).toEqual([])
  })

  it('permits no import from a later folder or from a room that is not listed', () => {
    const forbidden = everywhere.filter(({ from, target }) =>
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

  it('has no import cycles between folders', () => {
    expect(cyclesOf(graph(dirname))).toEqual([])
  })

  it('has no import cycles between rooms', () => {
    expect(cyclesOf(graph(roomOf))).toEqual([])
  })

  it('is checked by a test that detects imports and cycles', () => {
    expect(relatives).toContainEqual({
      from: 'core/mqtt5/topic.ts',
      target: 'core/mqtt5/packet-error.ts',
      typeOnly: false,
    })
    expect(relatives.filter(({ target }) => !files.includes(target))).toEqual([])
    const found = everywhere.map(({ from, target }) => `${from} -> ${target}`)
    expect(found).toEqual(
      expect.arrayContaining([
        'harness/judges/replay.ts -> server/engine/engine.ts',
        'chaos/main.ts -> harness/link.ts',
        'console/src/main.tsx -> console/src/view/app.tsx',
        'bench/main.js -> bench/store.js',
        'scripts/pictures/node-red.js -> scripts/node-red.js',
        'spec/chaos/trend.spec.ts -> chaos/trend.ts',
      ]),
    )
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
    const large = Array.from(known, pathOf).filter(file => linesOf(join(ROOT, file)) > MAX_LINES)
    expect(large.sort()).toEqual(LARGE)
  })

  it('has no default export, no wildcard export and no cast that silences the compiler', () => {
    const offenders = files.filter(file =>
      /export default|export \*|\bas (any|never|unknown)\b|@ts-/.test(codeOf(file)),
    )
    expect(offenders).toEqual([])
  })
})
