import { expect, it } from 'vitest'
import { isPossible, type Knowledge } from '../../harness/judges/outcomes.js'

it.each<[Knowledge, readonly number[]]>([
  ['done', [1]],
  ['open', [0, 1]],
  ['not done', [0]],
])('a request with the knowledge "%s" may have been applied exactly %j times', (knowledge, times) => {
  expect([0, 1, 2].filter(count => isPossible(knowledge, count))).toEqual(times)
})
