import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

/** The sections of MQTT 5.0 that have normative statements, with the first and the last number of the statements. */
const STATEMENTS: readonly (readonly [section: string, first: number, last: number])[] = [
  ['1.5.4', 1, 3],
  ['1.5.5', 1, 1],
  ['1.5.7', 1, 1],
  ['2.1.3', 1, 1],
  ['2.2.1', 2, 6],
  ['2.2.2', 1, 1],
  ['3.1.0', 1, 2],
  ['3.1.2', 1, 30],
  ['3.1.3', 1, 12],
  ['3.1.4', 1, 6],
  ['3.2.0', 1, 2],
  ['3.2.2', 1, 22],
  ['3.3.1', 1, 13],
  ['3.3.2', 1, 20],
  ['3.3.4', 1, 10],
  ['3.4.2', 1, 3],
  ['3.5.2', 1, 3],
  ['3.6.1', 1, 1],
  ['3.6.2', 1, 3],
  ['3.7.2', 1, 3],
  ['3.8.1', 1, 1],
  ['3.8.3', 1, 5],
  ['3.8.4', 1, 8],
  ['3.9.2', 1, 2],
  ['3.9.3', 1, 2],
  ['3.10.1', 1, 1],
  ['3.10.3', 1, 2],
  ['3.10.4', 1, 6],
  ['3.11.2', 1, 2],
  ['3.11.3', 1, 2],
  ['3.12.4', 1, 1],
  ['3.14.0', 1, 1],
  ['3.14.1', 1, 1],
  ['3.14.2', 1, 4],
  ['3.14.4', 1, 3],
  ['3.15.1', 1, 1],
  ['3.15.2', 1, 3],
  ['4.1.0', 1, 2],
  ['4.2', 1, 1],
  ['4.3.1', 1, 1],
  ['4.3.2', 1, 5],
  ['4.3.3', 1, 13],
  ['4.4.0', 1, 2],
  ['4.5.0', 1, 2],
  ['4.6.0', 1, 6],
  ['4.7.0', 1, 1],
  ['4.7.1', 1, 2],
  ['4.7.2', 1, 1],
  ['4.7.3', 1, 4],
  ['4.8.2', 1, 6],
  ['4.9.0', 1, 3],
  ['4.12.0', 1, 7],
  ['4.12.1', 1, 2],
  ['4.13.1', 1, 1],
  ['4.13.2', 1, 1],
  ['6.0.0', 1, 4],
]
const ROOT = new URL('../../../', import.meta.url)
const textOf = (file: string): string => readFileSync(new URL(file, ROOT), 'utf8')

const numbers = (section: string, first: number, last: number): string[] =>
  Array.from({ length: last - first + 1 }, (_, at) => `${section}-${first + at}`)

const rows = Array.from(
  textOf('docs/internals/mqtt5.md').matchAll(/^\| (\d\S*) \| (.+) \|$/gm),
  ([, id = '', by = '']) => ({
    id,
    by,
  }),
)
const filesOf = (by: string): string[] => Array.from(by.matchAll(/`(spec\/[^`]+)`/g), ([, file = '']) => file)

/** Returns the statements that a spec names, either individually or as `a to b`. */
function namedIn(file: string): ReadonlySet<string> {
  const text = textOf(file)
  const ranges = Array.from(text.matchAll(/(\d[\d.]+)-(\d+) to \1-(\d+)/g), ([, section = '', first, last]) =>
    numbers(section, Number(first), Number(last)),
  )
  return new Set([...ranges.flat(), ...(text.match(/(?<![\d.])\d\.\d+(?:\.\d+)?-\d+/g) ?? [])])
}

it('The MQTT 5 table lists every normative statement exactly once', () => {
  const all = STATEMENTS.flatMap(([section, first, last]) => numbers(section, first, last))
  expect(all).toHaveLength(251)
  expect(rows.map(({ id }) => id)).toEqual(all)
})

it('The MQTT 5 table names a spec or a reason for every statement', () => {
  const odd = rows.filter(({ by }) => filesOf(by).length === 0 && !/^(client's side|by choice, because .+)$/.test(by))
  expect(odd).toEqual([])
})

it('Every spec in the MQTT 5 table contains the number of the statement', () => {
  const names = new Map([...new Set(rows.flatMap(({ by }) => filesOf(by)))].map(file => [file, namedIn(file)]))
  const lost = rows.flatMap(({ id, by }) =>
    filesOf(by).flatMap(file => (names.get(file)?.has(id) ? [] : [`${id} in ${file}`])),
  )
  expect(lost).toEqual([])
})
