import { execFile } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import * as client from '../../../src/client/index.js'
import * as lease from '../../../src/client/lease/index.js'
import * as matching from '../../../src/client/matching/index.js'
import * as optimistic from '../../../src/client/optimistic/index.js'
import * as react from '../../../src/client/react/index.js'
import * as writable from '../../../src/client/react/writable.js'
import * as retained from '../../../src/client/retained/index.js'
import * as shadow from '../../../src/client/shadow/index.js'
import * as diagnostics from '../../../src/core/diagnostics/index.js'
import * as optimisticFile from '../../../src/node/file-storage.js'
import * as settings from '../../../src/node/settings.js'
import * as opentelemetry from '../../../src/opentelemetry/index.js'
import * as bridge from '../../../src/pubsub/bridge/index.js'
import * as pubsub from '../../../src/pubsub/client/index.js'
import * as hub from '../../../src/pubsub/hub/index.js'
import * as consoleEntry from '../../../src/server/console/index.js'
import * as server from '../../../src/server/index.js'
import * as jetstream from '../../../src/server/log/jetstream/index.js'
import * as metrics from '../../../src/server/metrics/index.js'
import { effort, some } from '../../support/effort.js'
import { layLink } from '../../support/link.js'
import { BUN, DENO, runtimeOf, SERVICES } from '../../support/services.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { DOCUMENTS, type Document, snippetsOf } from './support/documents.js'
import { PROGRAM_TIMEOUT_MS } from './support/program-timeout.js'

const run = promisify(execFile)
const ROOT = new URL('../../..', import.meta.url).pathname
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
const manifest: {
  version: string
  bin: { 'rx-statestore': string }
  scripts: Record<string, string>
  exports: Record<string, string | { types: string; default: string }>
} = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const ENTRIES = {
  'rx-statestore': client,
  'rx-statestore/lease': lease,
  'rx-statestore/matching': matching,
  'rx-statestore/optimistic': optimistic,
  'rx-statestore/optimistic/react': writable,
  'rx-statestore/optimistic/file': optimisticFile,
  'rx-statestore/shadow': shadow,
  'rx-statestore/retained': retained,
  'rx-statestore/server': server,
  'rx-statestore/jetstream': jetstream,
  'rx-statestore/console': consoleEntry,
  'rx-statestore/metrics': metrics,
  'rx-statestore/diagnostics': diagnostics,
  'rx-statestore/opentelemetry': opentelemetry,
  'rx-statestore/settings': settings,
  'rx-statestore/pubsub': pubsub,
  'rx-statestore/pubsub/server': hub,
  'rx-statestore/bridge': bridge,
  'rx-statestore/react': react,
}

/** Lets time pass four times as fast for a program, and prints when 15 s have passed. */
const HASTE = `data:text/javascript,${encodeURIComponent(`
  const SPEED = 4
  const { setTimeout, performance, Date } = globalThis
  const [now, monotonic] = [Date.now.bind(Date), performance.now.bind(performance)]
  const [start, begun] = [now(), monotonic()]
  globalThis.setTimeout = (task, delay, ...rest) => setTimeout(task, delay / SPEED, ...rest)
  Date.now = () => start + (now() - start) * SPEED
  performance.now = () => begun + (monotonic() - begun) * SPEED
  globalThis.setTimeout(() => console.log('15 s'), 15_000)
`)}`

let home: string
let files: string[]

/** The environment of a pod, for `settingsFromEnv`. */
const ENVIRONMENT = { ...process.env, AIO_BROKER_HOSTNAME: 'localhost' }

const node = async (...args: string[]): Promise<string> =>
  (await run(process.execPath, args, { cwd: home, env: ENVIRONMENT })).stdout

/**
 * Type-checks and compiles the TypeScript of a project with strict settings. Returns the complaints of the compiler.
 */
async function compile(
  folder: string,
  moduleOptions: readonly string[],
  libraries: readonly string[] = ['--lib', 'es2022,esnext.disposable,dom', '--types', 'node'],
): Promise<string> {
  const names = readdirSync(join(home, folder), { recursive: true, encoding: 'utf8' }).filter(name =>
    name.endsWith('.ts'),
  )
  const options = ['--strict', '--exactOptionalPropertyTypes', '--target', 'es2022', ...libraries]
  const types = ['--typeRoots', join(ROOT, 'node_modules/@types')]
  const paths = names.map(name => join(folder, name))
  return run(process.execPath, [TSC, ...options, ...types, ...moduleOptions, '--rootDir', folder, ...paths], {
    cwd: home,
  }).then(
    () => '',
    ({ stdout }) => String(stdout),
  )
}

beforeAll(async () => {
  home = temporaryFolder()
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', home], { cwd: ROOT })
  const packed = parsePacked(stdout)
  files = packed.files.map(({ path }) => path)
  writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'user', private: true, type: 'module' }))
  const peers = ['rxjs@7.8.2', 'react@19.3.1', '@opentelemetry/api@1.9.0']
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${packed.filename}`, ...peers]
  await effort<() => unknown>(() => run('npm', install, { cwd: home }), link)()
}, 180_000)

/**
 * Installs the package as npm would, but with links to packages that are already here, as installing them takes most of
 * the time.
 */
async function link(): Promise<void> {
  const modules = join(home, 'node_modules')
  for (const path of files) {
    const target = join(modules, 'rx-statestore', path)
    mkdirSync(dirname(target), { recursive: true })
    copyFileSync(join(ROOT, path), target)
  }
  for (const name of readdirSync(join(ROOT, 'node_modules')).filter(name => !name.startsWith('.')))
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  mkdirSync(join(modules, '.bin'))
  chmodSync(join(modules, 'rx-statestore', manifest.bin['rx-statestore']), 0o755)
  symlinkSync(join('../rx-statestore', manifest.bin['rx-statestore']), join(modules, '.bin/rx-statestore'))
}

interface Packed {
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

// Parses the output of npm, which is an array of packages or an object by name, depending on the version, and follows
// the output of the build.
function parsePacked(stdout: string): Packed {
  const packages: Record<string, Packed> = JSON.parse(stdout.slice(stdout.search(/^[[{]/m)))
  const [first] = Object.values(packages)
  if (first === undefined) throw new Error(`npm pack said nothing of a package: ${stdout}`)
  return first
}

describe('the package', { timeout: PROGRAM_TIMEOUT_MS }, () => {
  it('contains only the build, the documents and the files to deploy a store', () => {
    const page =
      /^dist\/server\/console\/page\/(index\.html|icon\.svg|theme\.js|licences\.md|assets\/[\w-]+\.(js|css|woff2))$/
    const others = files.filter(
      path => !/^dist\/(?!server\/console\/page\/).*\.(js|d\.ts)$/.test(path) && !page.test(path),
    )
    expect(others.filter(path => !/^docs\/[^/]*\.(md|svg)$/.test(path)).sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'deploy/grafana/dashboard.json',
      'deploy/prometheus/prometheus.yml',
      'deploy/prometheus/rules.yaml',
      'deploy/rx-statestore.service',
      'deploy/store.yaml',
      'dist/licences.md',
      'llms.txt',
      'package.json',
      'schema/attached-store.json',
      'schema/store.json',
      'skills/rx-statestore/SKILL.md',
    ])
    expect(others).toContain('docs/guarantees.md')
    expect(files).toContain('dist/server/console/page/index.html')
  })

  it('exports files that exist, with types', () => {
    const targets = Object.values(manifest.exports).flatMap(target =>
      typeof target === 'string' ? [] : Object.values(target),
    )
    expect(targets.filter(target => !files.includes(target.replace('./', '')))).toEqual([])
    expect(Object.keys(manifest.exports)).toEqual([
      '.',
      ...Object.keys(ENTRIES)
        .slice(1)
        .map(name => name.replace('rx-statestore', '.')),
      './package.json',
    ])
  })

  it('plain JavaScript can import every entry of the package', async () => {
    const names = Object.keys(ENTRIES)
    const script = `const names = ${JSON.stringify(names)}
      const keysOf = async name => [name, Object.keys(await import(name)).sort()]
      console.log(JSON.stringify(Object.fromEntries(await Promise.all(names.map(keysOf)))))`
    const expected = Object.entries(ENTRIES).map(([name, module]) => [name, Object.keys(module).sort()])
    expect(JSON.parse(await node('--input-type=module', '--eval', script))).toEqual(Object.fromEntries(expected))
  })

  const RESOLUTIONS: readonly (readonly [string, readonly string[]])[] = [
    ['Node', ['--module', 'nodenext']],
    ['a bundler', ['--module', 'esnext', '--moduleResolution', 'bundler']],
  ]

  it.each(some(RESOLUTIONS, 1))(
    'TypeScript finds the types of every entry with the resolution of %s',
    async (_name, options) => {
      mkdirSync(join(home, 'types'), { recursive: true })
      writeFileSync(
        join(home, 'types/user.ts'),
        `import { connect, number, set, type Entry, type SetResult, type StateStore } from 'rx-statestore'
       import { serve, type StoreServer } from 'rx-statestore/server'
       import { useKey, type KeySnapshot } from 'rx-statestore/react'
       import { of, type Observable } from 'rxjs'
       const running: StoreServer = await serve({ port: 0 })
       const store: StateStore = connect(running.url)
       const entries$: Observable<Entry<number>> = store.key('a', number).entries$
       const results$: Observable<SetResult> = of(1).pipe(set(store.key('a', number)))
       // @ts-expect-error: a key of numbers takes no text
       store.key('a', number).set('warm')
       const component = (): KeySnapshot<number> => useKey(store.key('a', number))
       export { component, entries$, results$ }`,
      )
      expect(await compile('types', [...options, '--noEmit'])).toBe('')
    },
  )

  it('CommonJS code gets the types and imports the package dynamically', async () => {
    mkdirSync(join(home, 'common'), { recursive: true })
    writeFileSync(join(home, 'common/package.json'), JSON.stringify({ type: 'commonjs' }))
    writeFileSync(
      join(home, 'common/user.ts'),
      `import type { StateStore } from 'rx-statestore' with { 'resolution-mode': 'import' }
       export async function open(): Promise<StateStore> {
         const { connect } = await import('rx-statestore')
         return connect('mqtt://localhost')
       }`,
    )
    expect(await compile('common', ['--module', 'node16', '--noEmit'])).toBe('')
  })

  it('runs no scripts when it is installed', () => {
    for (const name of ['preinstall', 'install', 'postinstall', 'prepare'])
      expect(manifest.scripts).not.toHaveProperty(name)
  })

  it('the types need no library of TypeScript newer than ES2022 and the DOM', async () => {
    mkdirSync(join(home, 'oldest'), { recursive: true })
    writeFileSync(
      join(home, 'oldest/user.ts'),
      `import { connect, number } from 'rx-statestore'
       export const value$ = connect('mqtt://localhost').key('a', number).value$`,
    )
    expect(await compile('oldest', ['--module', 'nodenext', '--noEmit'], ['--lib', 'es2022,dom', '--types', ''])).toBe(
      '',
    )
  })

  it('provides the command rx-statestore', async () => {
    const { stdout } = await run(join(home, 'node_modules/.bin/rx-statestore'), ['--version'], { cwd: home })
    expect(stdout.trim()).toBe(manifest.version)
  })

  it('the entries for pages import no Node modules', async () => {
    const names = [
      'rx-statestore',
      'rx-statestore/lease',
      'rx-statestore/matching',
      'rx-statestore/pubsub',
      'rx-statestore/react',
    ]
    const script = `
      import { register } from 'node:module'
      const hooks = 'export async function resolve(name, context, next) { if (/^node:/.test(name) && /rx-statestore.dist/.test(context.parentURL ?? "")) throw new Error(name); return next(name, context) }'
      register('data:text/javascript,' + encodeURIComponent(hooks))
      for (const name of ${JSON.stringify(names)}) await import(name)
      console.log('fine')`
    expect(await node('--input-type=module', '--eval', script)).toBe('fine\n')
  })
})

describe.skipIf(!SERVICES.runtimes.present)('The packed package runs', { timeout: PROGRAM_TIMEOUT_MS }, () => {
  it.each([
    ['Node 20', process.execPath, []],
    ['Node 22', runtimeOf(22), []],
    ['Node 24', runtimeOf(24), []],
    ['Bun', BUN, []],
    ['Deno', DENO, ['run', '--allow-all', '--node-modules-dir=manual']],
  ])('under %s', async (_, runtime, options) => {
    copyFileSync(join(ROOT, 'spec/system/packaging/smoke.js'), join(home, 'smoke.js'))
    const { stdout } = await run(runtime, [...options, 'smoke.js'], { cwd: home })
    expect(stdout).toBe('watched 3\nwatched 3\nheard hello\nclosed\n')
  })
})

const folderOf = ({ file }: Document): string => `snippets/${basename(file, '.md')}`

describe('The snippets of the documents', { timeout: PROGRAM_TIMEOUT_MS }, () => {
  let complaints: string

  beforeAll(async () => {
    for (const document of DOCUMENTS) {
      mkdirSync(join(home, folderOf(document)), { recursive: true })
      for (const [i, snippet] of snippetsOf(document).entries())
        writeFileSync(join(home, folderOf(document), `snippet${i}.ts`), snippet)
    }
    // All snippets are compiled at once, because the types they import take the compiler most of the time.
    complaints = await compile('snippets', ['--module', 'nodenext'])
  }, PROGRAM_TIMEOUT_MS)

  it('the snippets type-check unchanged', () => {
    expect(complaints).toBe('')
  })

  it('the snippets of the README and the client page run unchanged without a compiler', async () => {
    await using store = await server.serve({ port: 0, wsPort: 0 })
    const first = DOCUMENTS.filter(({ file }) => ['README.md', 'docs/client.md'].includes(file))
    const plain = first.flatMap(document =>
      snippetsOf(document).map((code, at) => ({ code, output: document.outputs[at] ?? /$^/ })),
    )
    const untyped = plain.filter(({ code }) => !/<[{A-Z]/.test(code))
    expect(untyped.length).toBe(2)
    for (const { code, output } of untyped) {
      writeFileSync(join(home, 'plain.js'), code.replace('mqtt://localhost:1883', store.url))
      expect(await node('plain.js')).toMatch(output)
    }
  })

  it.each(some(DOCUMENTS, 1))('the snippets run unchanged: $file', async document => {
    await using store = await server.serve({ port: 0, wsPort: 0 })
    const { outputs } = document
    expect(snippetsOf(document)).toHaveLength(outputs.length)
    for (const [i, output] of outputs.entries()) {
      const path = join(folderOf(document), `snippet${i}.js`)
      const script = readFileSync(join(home, path), 'utf8')
      writeFileSync(join(home, path), script.replaceAll('mqtt://localhost:1883', store.url))
      expect(await node(path)).toMatch(output)
    }
  })

  it('the snippets of docs/requests.md repeat the requests that failed in an outage of 15 s', async () => {
    await using store = await server.serve({ port: 0, wsPort: 0 })
    const link = await layLink(store.url)
    link.cut()
    const folder = join(home, 'snippets/requests')
    const script = readFileSync(join(folder, 'snippet1.js'), 'utf8')
    writeFileSync(join(folder, 'outage.js'), script.replace(/mqtt:[^']+/, link.url))
    const program = run(process.execPath, ['--import', HASTE, 'outage.js'], { cwd: folder })
    program.child.stdout?.once('data', () => link.restore())
    expect((await program).stdout).toBe('15 s\n1000\n')
    expect(store.stats.keys).toBe(1_000)
  })
})
