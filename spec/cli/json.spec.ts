import { describe, expect, it } from 'vitest'
import { jsonLine } from '../../src/cli/json.js'

describe('jsonLine', () => {
  it('escapes control characters, and JSON.parse restores the same text', () => {
    const members = { name: 'a\u001b[31m\u009b31m\u202e\u2028é' }
    const line = jsonLine(members)
    expect(line).toBe('{"name":"a\\u001b[31m\\u009b31m\\u202e\\u2028é"}\n')
    expect(JSON.parse(line)).toEqual(members)
  })
})
