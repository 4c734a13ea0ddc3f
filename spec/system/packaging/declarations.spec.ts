import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { OLDEST_TSC, SERVICES } from '../../support/services.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { PROGRAM_TIMEOUT_MS } from './support/program-timeout.js'
import { usesOfExports } from './support/uses-of-exports.js'

const ROOT = new URL('../../..', import.meta.url).pathname
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
interface Manifest {
  readonly exports: Record<string, string | { types: string }>
  readonly typesVersions: { readonly '*': Record<string, readonly string[]> }
}
const { exports, typesVersions }: Manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** A project that has the package installed. */
let home: string

/** Compiles a project and returns the complaints of the compiler. */
const compile = async (folder: string, config: object, tsc = TSC): Promise<string> => {
  writeFileSync(join(home, folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: config, include: ['.'] }))
  return new Promise(resolve =>
    execFile(process.execPath, [tsc, '-p', folder], { cwd: home, maxBuffer: 2 ** 26 }, (_, stdout) => resolve(stdout)),
  )
}

const OPTIONS = {
  target: 'es2022',
  lib: ['es2022', 'esnext.disposable', 'dom'],
  module: 'nodenext',
  types: ['node'],
  strict: true,
  skipLibCheck: true,
  rootDir: '.',
}

beforeAll(() => {
  home = temporaryFolder()
  const modules = join(home, 'node_modules')
  cpSync(join(ROOT, 'dist'), join(modules, 'rx-statestore/dist'), { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(modules, 'rx-statestore/package.json'))
  mkdirSync(join(home, 'app'))
  for (const name of ['rxjs', 'mqtt', 'react', '@standard-schema', '@types', '@nats-io', '@opentelemetry', 'ws'])
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }))
})

describe('The types of the package', { timeout: PROGRAM_TIMEOUT_MS }, () => {
  it('a library that exports values of these types can emit declarations', async () => {
    const entries = Object.entries(exports).flatMap(([path, target]) =>
      typeof target === 'string' ? [] : [[path.slice(2), join(ROOT, target.types)] as const],
    )
    let exported = 0
    for (const { name, lines } of usesOfExports(Object.fromEntries(entries))) {
      exported += lines.filter(line => line.startsWith('export')).length
      writeFileSync(join(home, 'app', `${name.replaceAll('/', '-') || 'client'}.ts`), lines.join('\n'))
    }
    expect(exported).toBeGreaterThan(500)
    const complaints = await compile('app', { ...OPTIONS, declaration: true, outDir: 'out' })
    expect(complaints.split('\n').filter(line => /TS(2742|2883|40\d\d|2527)/.test(line))).toEqual([])
  })

  it('the types accept an option that is undefined, as environment variables may be', async () => {
    mkdirSync(join(home, 'options'))
    writeFileSync(
      join(home, 'options/app.ts'),
      `import { connect, number } from 'rx-statestore'
       import { lease } from 'rx-statestore/lease'
       import { servePubSub } from 'rx-statestore/pubsub/server'
       import { attach, serve } from 'rx-statestore/server'
       const [text, count] = [process.env['TEXT'], process.env['COUNT'] === undefined ? undefined : 1]
       const store = connect('mqtt://localhost', { username: text, password: text, ca: text, keepAlive: count, timeout: count })
       store.key('a', number).set(1, { expiresIn: count, timeout: count })
       serve({ host: text, port: count, data: text, maxKeys: count, maxMemory: count, policy: text })
       attach('mqtt://localhost', { data: text, username: text, clientId: text, maxWatches: count })
       servePubSub({ authenticate: 'anonymous', host: text, path: text, port: count })
       export const lock = lease(store, 'lock', { duration: 1_000, renewEvery: count, holder: text })`,
    )
    expect(await compile('options', { ...OPTIONS, exactOptionalPropertyTypes: true, noEmit: true })).toBe('')
  })

  it('the error for a wrong option of `connect` names that option', async () => {
    mkdirSync(join(home, 'mistake'))
    writeFileSync(
      join(home, 'mistake/app.ts'),
      `import { connect } from 'rx-statestore'
       connect('mqtt://localhost', { keepAlive: '30s' })`,
    )
    const complaints = await compile('mistake', { ...OPTIONS, noEmit: true })
    expect(complaints).toMatch(/Type 'string' is not assignable to type 'number'/)
    expect(complaints).not.toContain('MqttJsClient')
  })

  it.skipIf(!SERVICES.runtimes.present)('the types are the same in the oldest supported TypeScript', async () => {
    mkdirSync(join(home, 'oldest'))
    writeFileSync(
      join(home, 'oldest/app.ts'),
      `import { connect, number, type Entry } from 'rx-statestore'
       type IsAny<T> = 0 extends 1 & T ? true : false
       const key = connect('mqtt://localhost').key('a', number)
       for await (const entry of key.entries()) {
         const isAny: IsAny<typeof entry> = false
         const entryOfNumber: Entry<number> = entry
         console.log(isAny, entryOfNumber)
       }
       for await (const entry of key) {
         const isAny: IsAny<typeof entry> = false
         console.log(isAny)
       }
       const iterator: IsAny<ReturnType<typeof key.entries>> = false
       export { iterator }`,
    )
    expect(await compile('oldest', { ...OPTIONS, noEmit: true }, OLDEST_TSC)).toBe('')
  })

  it('`typesVersions` has the types of every entry, for compilers that ignore `exports`', () => {
    const subpaths = Object.entries(exports).flatMap(([path, target]) =>
      path === '.' || typeof target === 'string' ? [] : [[path.slice(2), [target.types]]],
    )
    expect(typesVersions).toEqual({ '*': Object.fromEntries(subpaths) })
  })

  it.skipIf(!SERVICES.runtimes.present)('the entries compile with `moduleResolution: node10`', async () => {
    mkdirSync(join(home, 'node10'))
    writeFileSync(
      join(home, 'node10/app.ts'),
      `import { connect, number } from 'rx-statestore'
       import { lease } from 'rx-statestore/lease'
       import { matching } from 'rx-statestore/matching'
       import { optimistic } from 'rx-statestore/optimistic'
       import { useWritableKey } from 'rx-statestore/optimistic/react'
       import { connectPubSub } from 'rx-statestore/pubsub'
       import { useKey } from 'rx-statestore/react'
       const store = connect('mqtt://localhost')
       const value: number | undefined = optimistic(store.key('a', number)).state.value
       export const all = [value, lease(store, 'l', { duration: 1_000 }), matching, connectPubSub, useKey, useWritableKey]`,
    )
    const options = { ...OPTIONS, module: 'commonjs', moduleResolution: 'node10', noEmit: true }
    expect(await compile('node10', options, OLDEST_TSC)).toBe('')
  })
})
