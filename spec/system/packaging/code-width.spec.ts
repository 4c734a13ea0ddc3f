import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PARTS } from '../../../site/parts.js'

const ROOT = new URL('../../..', import.meta.url).pathname
/** What a page of the documentation shows beside its sidebars without a scroll bar. */
const COLUMNS = 72
/** A word of this length, such as a topic or a line of JSON, may exceed the width, because it has no place for a break. */
const UNBREAKABLE = /\S{50}/
/** Code, and a comment behind it. Comments that only show a value, such as `// true`, may stay there. */
const TRAILING = /^\s*(?!\/\/|#)\S.* {2,}(?:\/\/|#) /

interface Line {
  readonly at: string
  readonly text: string
}

const namesBelow = (folder: string, ending: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith(ending))
    .map(name => join(folder, name))

/** Returns the lines of all code blocks of a file; `margin` matches what stands before each line. */
function codeOf(file: string, margin: RegExp): Line[] {
  let isCode = false
  return readFileSync(join(ROOT, file), 'utf8')
    .split('\n')
    .map((line, index) => ({ at: `${file}:${index + 1}`, text: line.replace(margin, '') }))
    .filter(({ text }) => {
      const isFence = /^\s*```/.test(text)
      if (isFence) isCode = !isCode
      return isCode && !isFence
    })
}

const documents = new Set([
  ...PARTS.flatMap(({ pages }) => pages.map(([source]) => source)),
  ...namesBelow('docs', '.md'),
  'site/index.md',
])
const lines = [
  ...Array.from(documents).flatMap(file => codeOf(file, /^/)),
  ...namesBelow('src', '.ts').flatMap(file => codeOf(file, /^\s*\* ?/)),
]

describe('The code blocks of the documents and of the API', () => {
  it(`no line of code has more than ${COLUMNS} columns`, () => {
    expect(lines.length).toBeGreaterThan(1_000)
    const tooLong = lines.filter(({ text }) => text.length > COLUMNS && !UNBREAKABLE.test(text))
    expect(tooLong.map(({ at, text }) => `${at}: ${text}`)).toEqual([])
  })

  it('comments stand above the code that they explain', () => {
    const behind = lines.filter(({ text }) => TRAILING.test(text))
    expect(behind.map(({ at, text }) => `${at}: ${text}`)).toEqual([])
  })
})
