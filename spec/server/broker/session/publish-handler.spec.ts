import { describe, expect, it } from 'vitest'
import type { InboundPublish } from '../../../../src/core/mqtt5/packets.js'
import * as REASON from '../../../../src/core/mqtt5/reason-codes.js'
import { MemoryBudget } from '../../../../src/node/limits/memory-budget.js'
import { LIMIT } from '../../../../src/server/broker/limits/limits.js'
import { AliasTable } from '../../../../src/server/broker/session/publish-handler.js'

const publish = (topic: string, topicAlias?: number): InboundPublish => ({
  topic,
  topicAlias,
  payload: new Uint8Array(0),
  qos: 0,
  dup: false,
  retain: false,
  packetId: 0,
  subscriptionIds: [],
  userProperties: {},
  carried: new Uint8Array(0),
})

const open = () => {
  const budget = new MemoryBudget(1_000_000)
  return { budget, table: new AliasTable(budget) }
}

describe('AliasTable', () => {
  it('the alias table does not change a message that has a topic and no alias', () => {
    const message = publish('a')
    expect(open().table.resolve(message)).toBe(message)
  })

  it('the alias table resolves an alias to the last topic assigned to this alias', () => {
    const { table } = open()
    table.resolve(publish('a', 1))
    table.resolve(publish('b', 2))
    expect([1, 2].map(alias => table.resolve(publish('', alias)).topic)).toEqual(['a', 'b'])
    table.resolve(publish('c', 1))
    expect([1, 2].map(alias => table.resolve(publish('', alias)).topic)).toEqual(['c', 'b'])
  })

  it('the alias table accepts aliases up to the maximum announced in CONNACK', () => {
    const { table } = open()
    expect(table.resolve(publish('a', LIMIT.inboundAliases)).topic).toBe('a')
    const over = expect.objectContaining({ reasonCode: REASON.topicAliasInvalid })
    expect(() => table.resolve(publish('a', LIMIT.inboundAliases + 1))).toThrow(over)
  })

  it('the alias table rejects an unknown alias', () => {
    const unknown = expect.objectContaining({ reasonCode: REASON.protocolError })
    expect(() => open().table.resolve(publish('', 1))).toThrow(unknown)
  })

  it('the alias table charges its topics to the memory budget, and releases the memory', () => {
    const { table, budget } = open()
    table.resolve(publish('a'.repeat(1_000), 1))
    const first = budget.used
    expect(first).toBeGreaterThanOrEqual(1_000)
    table.resolve(publish('a'.repeat(1_000), 1))
    expect(budget.used).toBe(first)
    table.resolve(publish('b', 1))
    expect(budget.used).toBe(first - 999)
    table.clear()
    expect(budget.used).toBe(0)
  })
})
