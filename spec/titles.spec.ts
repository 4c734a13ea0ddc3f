import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const SPEC = new URL('.', import.meta.url).pathname
const MAX_LENGTH = 90

/** The start of a test or suite, whose indentation shows how deep it is. */
const START = /^( *)(describe|it)(?:\.\w+)*(?:<.*>)?\(/gm
/** A title: the first argument, or the first argument after a table or condition. */
const TITLE = /^(?:[\w.]+\(\s*|.*?\)\(\s*)(['"`])((?:\\.|(?!\1).)*)\1/s
/** The statements of the standard that a test proves, at the end of its title. */
const REFERENCES = / \[\d[^\]]*\]$/
/** The number of a behaviour, at the start of its title. */
const NUMBERS = /^(?:\d+\. (?:and )?)+/

interface Title {
  readonly file: string
  readonly text: string
  /** The titles of the suites around it. */
  readonly suites: readonly string[]
}

function titlesOf(file: string): Title[] {
  const source = readFileSync(join(SPEC, file), 'utf8')
  const suites: { readonly depth: number; readonly text: string }[] = []
  return [...source.matchAll(START)].flatMap(({ 1: indentation = '', 2: kind, index }) => {
    const depth = indentation.length
    const text = TITLE.exec(source.slice(index + depth))?.[2] ?? ''
    while ((suites.at(-1)?.depth ?? -1) >= depth) suites.pop()
    const around = suites.map(suite => suite.text)
    if (kind === 'describe') suites.push({ depth, text })
    return kind === 'describe' ? [] : [{ file, text: text.replace(REFERENCES, ''), suites: around }]
  })
}

const plain = (text: string): string =>
  text
    .toLowerCase()
    .replace(NUMBERS, '')
    .replace(/^(the|an?) /, '')

/** Returns whether a title starts with the title of a suite, after which it is printed. */
const repeatsSuite = ({ text, suites }: Title): boolean =>
  suites.some(suite => plain(text).startsWith(plain(suite)) && !/^\w/.test(plain(text).slice(plain(suite).length)))

describe('test titles', () => {
  const titles = readdirSync(SPEC, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && !name.includes('node_modules'))
    .flatMap(titlesOf)
  const named = (list: readonly Title[]): string[] => list.map(({ file, text }) => `${file}: ${text}`)

  it('are found', () => {
    expect(titles.filter(({ text }) => text !== '').length).toBeGreaterThan(4_000)
  })

  it(`have ${MAX_LENGTH} characters at most, without references to a standard`, () => {
    expect(named(titles.filter(({ text }) => text.length > MAX_LENGTH))).toEqual([])
  })

  it('do not start with the title of their suite', () => {
    expect(named(titles.filter(repeatsSuite))).toEqual([])
  })
})
