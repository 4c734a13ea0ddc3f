import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { PROGRAM_TIMEOUT_MS } from './support/program-timeout.js'

const run = promisify(execFile)
const ROOT = new URL('../../..', import.meta.url).pathname
const program = (path: string): string => join(ROOT, 'node_modules', path)

let folder: string

beforeAll(() => {
  folder = temporaryFolder()
})

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

describe('The package as it would be published', { timeout: PROGRAM_TIMEOUT_MS }, () => {
  it('publint reports no problems of the package', async () => {
    const { stdout } = await run(process.execPath, [
      program('publint/src/cli.js'),
      'run',
      ROOT,
      '--strict',
      '--pack',
      'false',
    ])
    expect(stdout).toContain('All good!')
  })

  it('the README says that npm lacks the package until a released version is named', () => {
    const [, heading = ''] = /^## (.*)$/m.exec(textOf('CHANGELOG.md')) ?? []
    expect(/is not released/.test(textOf('README.md'))).toBe(heading.includes('not released'))
  })

  it('every module resolution finds the types of the package', async () => {
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT })
    const [tarball = ''] = readdirSync(folder).filter(name => name.endsWith('.tgz'))
    const attw = program('@arethetypeswrong/cli/dist/index.js')
    const flags = ['--profile', 'esm-only', '--no-definitely-typed', '--format', 'ascii', '--no-emoji']
    // The program fails if it finds a problem.
    await run(process.execPath, [attw, join(folder, tarball), ...flags])
  })

  it('the package names one repository, in package.json and in all links', () => {
    const { repository, homepage, bugs } = JSON.parse(textOf('package.json'))
    const address = String(repository.url).replace(/^git\+|\.git$/g, '')
    expect([homepage, bugs.url]).toEqual([`${address}#readme`, `${address}/issues`])
    const name = address.replace('https://github.com/', '')
    const docs = readdirSync(join(ROOT, 'docs')).filter(file => file.endsWith('.md'))
    const strangers = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'llms.txt']
      .concat(docs.map(file => `docs/${file}`))
      .flatMap(file => textOf(file).match(/https:\/\/(?:raw\.githubusercontent|github)\.com\/[\w-]+\/[\w-]+/g) ?? [])
      .filter(link => /rx-statestore/.test(link) && !link.endsWith(`/${name}`))
    expect(strangers).toEqual([])
  })

  it('the nightly workflow runs every step of `npm run nightly` that needs no other version', async () => {
    const { stdout } = await run(process.execPath, [join(ROOT, 'scripts/nightly.js'), '--list'])
    const steps = stdout.split('\n').filter(step => !['', 'upgrade'].includes(step))
    const { jobs } = parse(textOf('.github/workflows/nightly.yml'))
    expect(jobs.nightly.strategy.matrix.step).toEqual(steps)
  })

  it('every exported class, interface and type has a description', () => {
    const reports = readdirSync(join(ROOT, 'api')).map(file => textOf(`api/${file}`))
    expect(reports.length).toBeGreaterThan(10)
    const undescribed = reports.flatMap(
      report => report.match(/(?<=@public \(undocumented\)\n)export (?:abstract |class|interface|type).*/g) ?? [],
    )
    expect(undescribed).toEqual([])
  })

  it('the API report of the package fails when an export is removed', async () => {
    const changed = join(folder, 'changed')
    mkdirSync(changed)
    symlinkSync(join(ROOT, 'node_modules'), join(changed, 'node_modules'))
    for (const path of ['dist', 'api', 'package.json', 'tsconfig.json'])
      cpSync(join(ROOT, path), join(changed, path), { recursive: true })
    const report = (): Promise<string> =>
      run(process.execPath, [join(ROOT, 'scripts/api.js'), 'matching', '--root', changed]).then(
        () => '',
        ({ stderr }) => String(stderr),
      )
    expect(await report()).toBe('')
    const entry = join(changed, 'dist/client/matching/index.d.ts')
    const types = readFileSync(entry, 'utf8')
    writeFileSync(entry, types.replaceAll(/\bmatching</g, 'other<'))
    expect(await report()).toMatch(/matching: - export function matching/)
  })
})
