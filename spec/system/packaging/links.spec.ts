import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PROGRAM_TIMEOUT_MS } from './support/program-timeout.js'

const ROOT = new URL('../../..', import.meta.url).pathname
const FOLDERS = ['.', 'docs', 'docs/decisions', 'docs/internals', 'bench']
const { repository }: { repository: { url: string } } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
/** The web addresses of a file of the repository, with `raw` for pictures. */
const ON_THE_WEB = ['blob', 'raw'].map(kind => `${repository.url.replace(/^git\+|\.git$/g, '')}/${kind}/main/`)

const documents = FOLDERS.flatMap(folder =>
  readdirSync(join(ROOT, folder))
    .filter(name => name.endsWith('.md'))
    .map(name => join(folder, name)),
)

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8').replace(/```[\s\S]*?```/g, '')

/** Returns the anchors that web sites derive from the headings of a Markdown file. */
const anchorsOf = (file: string): readonly string[] =>
  Array.from(textOf(file).matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

interface Link {
  readonly target: string
  /** The path from the root of the repository. */
  readonly to: string
  readonly anchor: string | undefined
  /** Whether the link is a web address. */
  readonly isAbsolute: boolean
}

/** Returns the links of a document that lead into the repository. */
function linksOf(file: string): readonly Link[] {
  const found = textOf(file).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)
  return Array.from(found, ([, link, source]) => link ?? source ?? '').flatMap(target => {
    const prefix = ON_THE_WEB.find(each => target.startsWith(each))
    const isAbsolute = prefix !== undefined
    if (!isAbsolute && /^(https?|mailto):/.test(target)) return []
    const [path = '', anchor] = target.slice(prefix?.length ?? 0).split('#')
    const to = isAbsolute ? path : path === '' ? file : join(dirname(file), path)
    return [{ target, to, anchor, isAbsolute }]
  })
}

it.each(documents)('Every link of %s leads to an existing target', file => {
  const lost = linksOf(file).filter(
    ({ to, anchor }) => !existsSync(join(ROOT, to)) || (anchor !== undefined && !anchorsOf(to).includes(anchor)),
  )
  expect(lost).toEqual([])
})

it('Every spec that docs/internals/guarantees.md names exists', () => {
  const held = textOf('docs/internals/guarantees.md').match(/\*Held by\*: .*/g) ?? []
  const paths = held.flatMap(line =>
    Array.from(line.matchAll(/`([\w-]+\/[\w/-]+)`/g), ([, path = '']) => join('spec', path)),
  )
  expect(paths.length).toBeGreaterThan(100)
  expect(paths.filter(path => !['', '.ts', '.spec.ts'].some(end => existsSync(join(ROOT, path + end))))).toEqual([])
})

describe('The documents in the package', { timeout: PROGRAM_TIMEOUT_MS }, () => {
  const packing = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const stdout = execFileSync('npm', packing, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  const [packed]: { files: { path: string }[] }[] = Object.values(JSON.parse(stdout))
  const files = packed?.files.map(({ path }) => path) ?? []

  it('the packed documents link to packed files, and to all other files by their web address', () => {
    const texts = files.filter(path => /\.(md|txt)$/.test(path) && !path.startsWith('dist/'))
    expect(texts).toEqual(expect.arrayContaining(['README.md', 'docs/guarantees.md', 'llms.txt']))
    const lost = texts.flatMap(file =>
      linksOf(file)
        .filter(({ to, isAbsolute }) => files.includes(to) === isAbsolute)
        .map(({ target }) => `${file}: ${target}`),
    )
    expect(lost).toEqual([])
  })
})
