// Compares the exports of each entry and their types with the reports in api/: `npm run api`. Exits with code 1 if they
// differ. `npm run api -- --update` rewrites the reports. Names of entries restrict the comparison to these entries;
// `--root DIR` selects another built package.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { CompilerState, Extractor, ExtractorConfig } from '@microsoft/api-extractor'

const HERE = new URL('..', import.meta.url).pathname
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { update: { type: 'boolean' }, root: { type: 'string', default: HERE } },
})
const ROOT = values.root
const REPORTS = join(ROOT, 'api')
/** The folder for the current reports, before the comparison. */
const FOUND = join(HERE, 'node_modules/.cache/rx-statestore-api')

/** @type {{ exports: Record<string, string | { types: string }> }} */
const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const entries = Object.entries(exports).flatMap(([path, target]) => {
  const name = path === '.' ? 'client' : path.slice(2).replaceAll('/', '-')
  const isWanted = positionals.length === 0 || positionals.includes(name)
  return typeof target === 'string' || !isWanted ? [] : [{ name, types: join(ROOT, target.types) }]
})
const compilerOptions = {
  target: 'es2022',
  lib: ['es2022', 'esnext.disposable', 'dom'],
  module: 'nodenext',
  types: ['node'],
  skipLibCheck: true,
  strict: true,
}

/** @param {{ name: string, types: string }} entry */
const configOf = ({ name, types }) =>
  ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: join(ROOT, 'package.json'),
    configObject: {
      projectFolder: ROOT,
      mainEntryPointFilePath: types,
      newlineKind: 'lf',
      compiler: { overrideTsconfig: { compilerOptions, files: entries.map(entry => entry.types) } },
      apiReport: {
        enabled: true,
        reportFileName: `${name}.api.md`,
        reportFolder: FOUND,
        reportTempFolder: join(FOUND, 'temp'),
      },
      docModel: { enabled: false },
      tsdocMetadata: { enabled: false },
    },
  })

mkdirSync(join(FOUND, 'temp'), { recursive: true })
mkdirSync(REPORTS, { recursive: true })
/** @type {CompilerState | undefined} */
let compilerState
let differences = 0
for (const entry of entries) {
  const config = configOf(entry)
  compilerState ??= CompilerState.create(config, { additionalEntryPoints: entries.slice(1).map(({ types }) => types) })
  /** @type {string[]} */
  const complaints = []
  Extractor.invoke(config, {
    localBuild: true,
    compilerState,
    messageCallback: message => {
      message.handled = true
      if (message.category === 'Compiler') complaints.push(message.text)
    },
  })
  const found = readFileSync(join(FOUND, `${entry.name}.api.md`), 'utf8')
  const file = join(REPORTS, `${entry.name}.api.md`)
  if (values.update) writeFileSync(file, found)
  for (const complaint of complaints) console.error(`${entry.name}: ${complaint}`)
  differences += complaints.length + compare(entry.name, values.update ? found : reported(file), found)
}
if (differences > 0) {
  console.error('\nIf that is meant: npm run api -- --update, and a line in CHANGELOG.md')
  process.exitCode = 1
}

/** @param {string} file */
function reported(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/**
 * Prints the lines that only one of two reports has, or that it has more often, in the order of the files. Returns the
 * number of these lines.
 *
 * @param {string} name @param {string} before @param {string} now
 */
function compare(name, before, now) {
  const [removed, added] = [before.split('\n'), now.split('\n')]
  for (const line of [...removed]) {
    const at = added.indexOf(line)
    if (at < 0) continue
    added.splice(at, 1)
    removed.splice(removed.indexOf(line), 1)
  }
  for (const line of removed) console.error(`${name}: - ${line}`)
  for (const line of added) console.error(`${name}: + ${line}`)
  return removed.length + added.length
}
