import { isObservable, NEVER } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { number, systemClock } from '../../../src/client/index.js'
import { matching } from '../../../src/client/matching/index.js'
import { optimistic } from '../../../src/client/optimistic/index.js'
import { shadow } from '../../../src/client/shadow/index.js'
import { Audit } from '../../../src/node/net/audit.js'
import { FakeSetting } from '../../pubsub/support/fake-socket-client.js'
import { fakeStore } from '../../support/operator-session.js'

const { store } = fakeStore(() => NEVER)

/** Objects with streams, with the names of these streams. */
const HOLDERS: readonly (readonly [string, object, readonly string[]])[] = [
  ['store', store, ['status$', 'stats$', 'errors$']],
  ['key', store.key('k', number), ['entries$', 'value$', 'freshness$', 'errors$']],
  ['matching', matching(store, 'k*', number), ['entries$', 'map$', 'freshness$']],
  ['optimistic', optimistic(store.key('k', number)), ['state$', 'value$']],
  ['shadow', shadow(store, 'k'), ['state$', 'delta$']],
  ['pub/sub client', new FakeSetting().client, ['status$', 'errors$', 'serverMessages$']],
  ['audit log', new Audit(systemClock), ['events$']],
]

describe.each(HOLDERS)('%s', (_, holder, names) => {
  it.each(names.map(name => [name]))('the stream %s is the same object on every access', name => {
    const stream: unknown = Reflect.get(holder, name)
    expect(isObservable(stream)).toBe(true)
    expect(Reflect.get(holder, name)).toBe(stream)
  })
})
