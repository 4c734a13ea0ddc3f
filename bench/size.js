// Measures the browser entries and the console's page, and exits with code 1 if they exceed budgets.json.
import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { bytes, printTable } from './support/report.js'

/** Dependencies that the application provides or that no browser loads. */
const EXTERNAL = [/^mqtt($|\/)/, /^rxjs($|\/)/, /^react($|\/)/, /^ws$/]
/** Entries that are measured together; code that they share counts once. */
const COMBINATIONS = [
  '.',
  '. + ./lease',
  '. + ./matching',
  '. + ./optimistic',
  '. + ./optimistic + ./optimistic/react',
  './react',
  './pubsub',
]
/** A virtual module that exports everything from the entries. */
const IMPORTER = new URL('./importer.js', import.meta.url).pathname
const PAGE = new URL('../dist/server/console/page/', import.meta.url)

/** @type {Record<string, { budget: number, goal?: number }>} */
const budgets = JSON.parse(readFileSync(new URL('./budgets.json', import.meta.url), 'utf8'))

/**
 * Bundles and minifies all exports of the entries, divided into initial and lazy chunks.
 *
 * @param {string} entry
 */
async function bundle(entry) {
  const exports = entry.split(' + ').map(each => `export * from '${each.replace('.', 'rx-statestore')}'`)
  const build = await rolldown({
    input: IMPORTER,
    plugins: [
      {
        name: 'importer',
        resolveId: id => (id === IMPORTER ? id : undefined),
        load: id => (id === IMPORTER ? exports.join('\n') : undefined),
      },
    ],
    external: EXTERNAL,
    platform: 'browser',
    treeshake: true,
    // Dropping 'use client' is harmless, because frameworks read the directive before bundling.
    onLog: (level, log, handler) => log.code === 'MODULE_LEVEL_DIRECTIVE' || handler(level, log),
  })
  const { output } = await build.generate({ format: 'esm', minify: true })
  await build.close()
  const chunks = output.filter(file => file.type === 'chunk')
  const initial = new Set()
  /** @param {string} name */
  const load = name => {
    const chunk = chunks.find(({ fileName }) => fileName === name)
    if (chunk === undefined || initial.has(chunk)) return
    initial.add(chunk)
    for (const imported of chunk.imports) load(imported)
  }
  for (const chunk of chunks) if (chunk.isEntry) load(chunk.fileName)
  return { initial: chunks.filter(chunk => initial.has(chunk)), later: chunks.filter(chunk => !initial.has(chunk)) }
}

/** Returns the built files of the console's page, divided into the files that its HTML loads and the others. */
function page() {
  const files = readdirSync(PAGE, { recursive: true, encoding: 'utf8' })
    .filter(file => /\.\w+$/.test(file) && file !== 'licences.md')
    .map(file => ({ file, code: readFileSync(new URL(file, PAGE)) }))
  const html = String(files.find(({ file }) => file === 'index.html')?.code ?? '')
  const linked = new Set([
    'index.html',
    ...Array.from(html.matchAll(/(?:src|href)="\.\/([^"]+)"/g), ([, file]) => file),
  ])
  const fonts = files.filter(({ file }) => file.endsWith('.woff2'))
  const later = files.filter(each => !linked.has(each.file) && !fonts.includes(each))
  return { initial: files.filter(({ file }) => linked.has(file)), later, fonts }
}

/** @param {string} name @param {readonly { code: string | Buffer }[]} chunks */
function row(name, chunks) {
  const { budget = 0, goal } = budgets[name] ?? {}
  const size = (/** @type {(code: string | Buffer) => number} */ of) =>
    chunks.reduce((sum, { code }) => sum + of(code), 0)
  const zipped = size(code => gzipSync(code, { level: 9 }).length)
  const cells = { entry: name, minified: bytes(size(code => Buffer.byteLength(code))), 'min + gzip': bytes(zipped) }
  return { ...cells, budget: bytes(budget), goal: goal ? bytes(goal) : '', verdict: zipped > budget ? 'TOO BIG' : 'ok' }
}

const rows = []
for (const entry of COMBINATIONS) {
  const { initial, later } = await bundle(entry)
  rows.push(row(entry, initial))
  if (later.length > 0) rows.push(row(`${entry}, protobuf`, later))
}
printTable({ title: 'Bundle sizes, without mqtt, rxjs, react and ws', rows })
const { initial, later, fonts } = page()
const pageRows = [row('console, initial', initial), row('console, on demand', later), row('console, fonts', fonts)]
printTable({ title: 'Console page', rows: pageRows })
if ([...rows, ...pageRows].some(({ verdict }) => verdict !== 'ok')) {
  console.error('\nA bundle exceeds its budget in bench/budgets.json: reduce it, or raise the budget')
  process.exitCode = 1
}
