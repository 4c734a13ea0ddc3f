// What the browser entries and the console's page weigh, and whether that is within budgets.json; exits with 1 if not.
import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { bytes, printTable } from './report.js'

/** What the application has anyway, or a browser never loads. */
const EXTERNAL = [/^mqtt($|\/)/, /^rxjs($|\/)/, /^react($|\/)/, /^ws$/]
/** Entries that are loaded together; what they have in common counts once. */
const LOADS = [
  '.',
  '. + ./lease',
  '. + ./matching',
  '. + ./optimistic',
  '. + ./optimistic + ./optimistic/react',
  './react',
  './pubsub',
]
/** A module that exports all that the entries do. */
const IMPORTER = new URL('./importer.js', import.meta.url).pathname
const PAGE = new URL('../dist/server/console/page/', import.meta.url)

/** @type {Record<string, { budget: number, goal?: number }>} */
const budgets = JSON.parse(readFileSync(new URL('./budgets.json', import.meta.url), 'utf8'))

/**
 * Bundles everything the entries export, minified, by whether it is loaded at once or on demand.
 *
 * @param {string} entry
 */
async function bundle(entry) {
  const wanted = entry.split(' + ').map(each => `export * from '${each.replace('.', 'rx-statestore')}'`)
  const build = await rolldown({
    input: IMPORTER,
    plugins: [
      {
        name: 'importer',
        resolveId: id => (id === IMPORTER ? id : undefined),
        load: id => (id === IMPORTER ? wanted.join('\n') : undefined),
      },
    ],
    external: EXTERNAL,
    platform: 'browser',
    treeshake: true,
    // That it may drop 'use client', which frameworks read before bundling.
    onLog: (level, log, handler) => log.code === 'MODULE_LEVEL_DIRECTIVE' || handler(level, log),
  })
  const { output } = await build.generate({ format: 'esm', minify: true })
  await build.close()
  const chunks = output.filter(file => file.type === 'chunk')
  const atOnce = new Set()
  /** @param {string} name */
  const load = name => {
    const chunk = chunks.find(({ fileName }) => fileName === name)
    if (chunk === undefined || atOnce.has(chunk)) return
    atOnce.add(chunk)
    for (const imported of chunk.imports) load(imported)
  }
  for (const chunk of chunks) if (chunk.isEntry) load(chunk.fileName)
  return { atOnce: chunks.filter(chunk => atOnce.has(chunk)), later: chunks.filter(chunk => !atOnce.has(chunk)) }
}

/** The files of the console's page, as they were built, by whether its HTML asks for them. */
function page() {
  const files = readdirSync(PAGE, { recursive: true, encoding: 'utf8' })
    .filter(file => /\.\w+$/.test(file) && file !== 'licences.md')
    .map(file => ({ file, code: readFileSync(new URL(file, PAGE), 'utf8') }))
  const html = files.find(({ file }) => file === 'index.html')?.code ?? ''
  const asked = new Set(['index.html', ...Array.from(html.matchAll(/(?:src|href)="\.\/([^"]+)"/g), ([, file]) => file)])
  return { atOnce: files.filter(({ file }) => asked.has(file)), later: files.filter(({ file }) => !asked.has(file)) }
}

/** @param {string} name @param {readonly { code: string }[]} chunks */
function row(name, chunks) {
  const { budget = 0, goal } = budgets[name] ?? {}
  const size = (/** @type {(code: string) => number} */ of) => chunks.reduce((sum, { code }) => sum + of(code), 0)
  const zipped = size(code => gzipSync(code, { level: 9 }).length)
  const cells = { entry: name, minified: bytes(size(code => Buffer.byteLength(code))), 'min + gzip': bytes(zipped) }
  return { ...cells, budget: bytes(budget), goal: goal ? bytes(goal) : '', verdict: zipped > budget ? 'TOO BIG' : 'ok' }
}

const rows = []
for (const entry of LOADS) {
  const { atOnce, later } = await bundle(entry)
  rows.push(row(entry, atOnce))
  if (later.length > 0) rows.push(row(`${entry}, protobuf`, later))
}
printTable({ title: 'Bundle sizes, without mqtt, rxjs, react and ws', rows })
const { atOnce, later } = page()
const pageRows = [row('console, at once', atOnce), row('console, on demand', later)]
printTable({ title: 'The console, with all it loads', rows: pageRows })
if ([...rows, ...pageRows].some(({ verdict }) => verdict !== 'ok')) {
  console.error('\nOver budget; the budgets are in bench/budgets.json')
  process.exitCode = 1
}
