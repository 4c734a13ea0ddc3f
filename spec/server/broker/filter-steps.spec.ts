import { describe, expect, it } from 'vitest'
import { openCore } from './scripted-client.js'

const FILTERS = Array.from({ length: 100 }, (_, n) => `${n}/${'+/'.repeat(90)}a`)

describe('a packet with many filters', () => {
  it('(UN)SUBSCRIBE is processed in steps of few filters, and answered after the last step', () => {
    const { connect } = openCore()
    const client = connect('c')
    const subscriptions = FILTERS.map(topic => ({ topic, qos: 1 as const, rh: 2 as const }))
    const [suback] = client.say({ cmd: 'subscribe', messageId: 1, subscriptions })
    expect(suback).toMatchObject({ cmd: 'suback', granted: FILTERS.map(() => 1) })
    expect(client.steps).toBeGreaterThan(3)
    const before = client.steps
    const [unsuback] = client.say({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: FILTERS })
    expect(unsuback).toMatchObject({ cmd: 'unsuback', granted: FILTERS.map(() => 0) })
    expect(client.steps - before).toBeGreaterThan(3)
  })

  it('the retained messages of its filters follow the SUBACK', () => {
    const { connect } = openCore()
    const client = connect('c')
    client.publish('0/a', 'x', { retain: true })
    const subscriptions = Array.from({ length: 40 }, (_, n) => ({ topic: `${n}/#`, qos: 0 as const }))
    const answers = client.say({ cmd: 'subscribe', messageId: 1, subscriptions })
    expect(answers.map(({ cmd }) => cmd)).toEqual(['suback', 'publish'])
  })

  it('a connection that ends between two steps leaves only whole subscriptions', () => {
    const { core, connect } = openCore()
    const properties = { sessionExpiryInterval: 60 }
    const client = connect('c', { clean: false, properties })
    const subscriptions = FILTERS.map(topic => ({ topic, qos: 1 as const }))
    client.sayAndVanish({ cmd: 'subscribe', messageId: 1, subscriptions })
    const { subscriptions: kept } = core.gauges()
    expect(kept).toBeGreaterThan(0)
    expect(kept).toBeLessThan(FILTERS.length)
    connect('c', { clean: true })
    expect(core.gauges().subscriptions).toBe(0)
  })
})
