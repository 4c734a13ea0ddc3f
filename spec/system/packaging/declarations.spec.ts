import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { usesOfExports } from './support/uses-of-exports.js'

const ROOT = new URL('../../..', import.meta.url).pathname
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
const { exports }: { exports: Record<string, string | { types: string }> } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
)

/** A project that has the package. */
let home: string

/** Compiles a project; the compiler's complaints are the result. */
const compile = async (folder: string, config: object): Promise<string> => {
  writeFileSync(join(home, folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: config, include: ['.'] }))
  return new Promise(resolve =>
    execFile(process.execPath, [TSC, '-p', folder], { cwd: home, maxBuffer: 2 ** 26 }, (_, stdout) => resolve(stdout)),
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
  home = mkdtempSync(join(tmpdir(), 'rx-statestore-declarations-'))
  const modules = join(home, 'node_modules')
  cpSync(join(ROOT, 'dist'), join(modules, 'rx-statestore/dist'), { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(modules, 'rx-statestore/package.json'))
  mkdirSync(join(home, 'app'))
  for (const name of ['rxjs', 'mqtt', 'react', '@standard-schema', '@types', '@nats-io', 'ws'])
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }))
})

afterAll(() => rmSync(home, { recursive: true }))

describe('The types of the package', () => {
  it('have names: a library that exports what it makes of them can emit its declarations', async () => {
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
})
