import { describe, expect, it } from 'vitest'
import { listen } from '../../../support/diagnostics.js'
import { set, TestCluster } from './test-cluster.js'

describe('the events of a shared log', () => {
  it('report the position of each node and the end of the log twice a second', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a')
    a.log.append(set('x', '1'))
    cluster.clock.advance(20)
    const events = listen('rx-statestore:log')
    cluster.clock.advance(1_000)
    const { position } = a.judge
    expect(events.filter(({ type }) => type === 'progress')).toEqual([
      { type: 'progress', node: 'a', position, knownEnd: position },
      { type: 'progress', node: 'a', position, knownEnd: position },
    ])
  })

  it('report when a node loses and regains the log', () => {
    const cluster = new TestCluster()
    const { node: a, stream } = cluster.open('a')
    const events = listen('rx-statestore:log')
    stream.faults.isDeaf = true
    a.log.append(set('x', '1'))
    cluster.clock.advance(20_000)
    stream.faults.isDeaf = false
    cluster.clock.advance(5_000)
    const states = events.flatMap(event => (event.type === 'availability' ? [event.state] : []))
    expect(states).toEqual(['waiting', 'away', 'kept'])
  })

  it('report which node was elected to write a snapshot, and that it is written', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a', { snapshots: { messages: 20 } })
    cluster.open('b', { snapshots: { messages: 20 } })
    const events = listen('rx-statestore:log')
    for (let at = 0; at < 60; at++) a.log.append(set(`k${at}`, 'x'.repeat(2_000)))
    a.log.append(set('large', 'x'.repeat(200_000)))
    cluster.clock.advance(5_000)
    const elections = events.flatMap(event => (event.type === 'election' ? [event.isElected] : []))
    expect(elections.filter(isElected => isElected).length).toBeGreaterThan(0)
    expect(events.filter(({ type }) => type === 'snapshot').length).toBeGreaterThan(0)
  })
})
