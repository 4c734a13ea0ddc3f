import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { PARTS } from '../../../site/parts.js'

const ROOT = new URL('../../..', import.meta.url).pathname
/** The row below a table's headers. */
const SEPARATOR = /^\|(?: *:?-+:? *\|)+$/

const documents = new Set([
  ...PARTS.flatMap(({ pages }) => pages.map(([source]) => source)),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => join('docs', name)),
])
const headers = Array.from(documents).flatMap(file => {
  const lines = readFileSync(join(ROOT, file), 'utf8').split('\n')
  return lines.flatMap((line, i) => (SEPARATOR.test(lines[i + 1] ?? '') ? [{ at: `${file}:${i + 1}`, line }] : []))
})

it('every column of a table in the documents has a header', () => {
  expect(headers.length).toBeGreaterThan(50)
  const empty = headers.filter(({ line }) =>
    line.split('|').some((cell, i, cells) => i % (cells.length - 1) > 0 && cell.trim() === ''),
  )
  expect(empty.map(({ at, line }) => `${at}: ${line}`)).toEqual([])
})
