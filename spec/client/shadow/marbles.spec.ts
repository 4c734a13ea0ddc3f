import { map } from 'rxjs'
import { describe } from 'vitest'
import { shadow } from '../../../src/client/shadow/index.js'
import { globBench } from '../../support/glob-bench.js'
import { marbleTest } from '../../support/marble-test.js'

interface Pump {
  readonly speed: number
}

/** Opens a pump and emits its deltas as JSON. */
function open(m: Parameters<typeof globBench>[0]) {
  const bench = globBench(m)
  const pump = shadow<Pump>(bench.store, 'pump')
  return { ...bench, delta$: pump.delta$.pipe(map(({ delta }) => JSON.stringify(delta))) }
}

describe('delta$', () => {
  marbleTest('delta$ starts once both keys have been read, and follows changes', m => {
    const { delta$, change, notify, at } = open(m)
    change('pump/desired', '{"speed":1}')
    at(50, () => notify('pump/reported', '{"speed":0}'))
    at(60, () => notify('pump/desired', '{"speed":2}'))
    at(70, () => notify('pump/reported', '{"speed":2}'))
    at(80, () => notify('pump/reported', '{"speed":2,"noise":1}'))
    m.expect(delta$, '400ms !').toBeObservable('20ms a 39ms b 9ms c', { a: '{"speed":1}', b: '{"speed":2}', c: '{}' })
  })

  marbleTest('delta$ emits nothing while disconnected, and the current delta after the reconnect', m => {
    const { delta$, change, at, connect, disconnect } = open(m)
    change('pump/desired', '{"speed":1}')
    at(50, () => disconnect())
    at(60, () => change('pump/desired', '{"speed":2}'))
    at(70, () => change('pump/desired', '{"speed":3}'))
    at(100, connect)
    m.expect(delta$, '400ms !').toBeObservable('20ms a 99ms b', { a: '{"speed":1}', b: '{"speed":3}' })
  })

  marbleTest('the delta is empty after the desired state is deleted', m => {
    const { delta$, change, notify, at } = open(m)
    change('pump/desired', '{"speed":1}')
    at(50, () => notify('pump/desired', undefined))
    at(60, () => notify('pump/desired', '{"speed":4}'))
    const values = { a: '{"speed":1}', b: '{}', c: '{"speed":4}' }
    m.expect(delta$, '400ms !').toBeObservable('20ms a 29ms b 9ms c', values)
  })

  marbleTest('delta$ completes with its watches', m => {
    const { delta$, store, at, disconnect } = open(m)
    at(40, () => {
      disconnect()
      void store.close()
    })
    m.expect(delta$).toBeObservable('20ms a 19ms |', { a: '{}' })
  })
})
