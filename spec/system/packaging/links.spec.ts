import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = new URL('../../..', import.meta.url).pathname
const FOLDERS = ['.', 'docs', 'docs/decisions', 'docs/internals', 'bench']

const documents = FOLDERS.flatMap(folder =>
  readdirSync(join(ROOT, folder))
    .filter(name => name.endsWith('.md'))
    .map(name => join(folder, name)),
)

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8').replace(/```[\s\S]*?```/g, '')

/** As the places that show Markdown make them of headings. */
const anchorsOf = (file: string): readonly string[] =>
  Array.from(textOf(file).matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

it.each(documents)('Every link of %s leads somewhere', file => {
  const targets = Array.from(
    textOf(file).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g),
    ([, link, source]) => link ?? source ?? '',
  )
  const lost = targets.filter(target => {
    if (/^(https?|mailto):/.test(target)) return false
    const [path = '', anchor] = target.split('#')
    const to = path === '' ? file : join(dirname(file), path)
    return !existsSync(join(ROOT, to)) || (anchor !== undefined && !anchorsOf(to).includes(anchor))
  })
  expect(lost).toEqual([])
})
