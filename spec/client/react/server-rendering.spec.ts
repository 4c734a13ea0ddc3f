import { createElement, type ReactNode } from 'react'
import { renderToString } from 'react-dom/server'
import { of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type StateStore, text } from '../../../src/client/index.js'
import { useKey, useStatus } from '../../../src/client/react/index.js'
import { record } from '../../support/open-client.js'
import { fakeStore } from '../../support/operator-session.js'

const open = () => fakeStore(({ verb }) => of(verb === 'GET' ? 'one' : { payload: '+OK\r\n' }))

function Panel({ store }: { readonly store: StateStore | undefined }): ReactNode {
  const { value, entry, freshness, error } = useKey(store?.key('k', text))
  const { state } = useStatus(store)
  return JSON.stringify({ value, entry, freshness, error, state })
}

const rendered = (store: StateStore | undefined): unknown =>
  JSON.parse(renderToString(createElement(Panel, { store })).replaceAll('&quot;', '"'))

const NOTHING = { freshness: { state: 'connecting' }, state: 'connecting' }

describe('server rendering', () => {
  it('a server renders a connecting key without a value and sends no request', () => {
    const { store, session } = open()
    expect(rendered(store)).toEqual(NOTHING)
    expect(session.requests).toEqual([])
  })

  it('a server renders no value of a watched key, because the browser cannot know the value', () => {
    const { store } = open()
    expect(record(store.key('k', text).value$).values).toEqual(['one'])
    expect(rendered(store)).toEqual(NOTHING)
  })

  it('needs no store', () => {
    expect(rendered(undefined)).toEqual(NOTHING)
  })

  it.each([7, 'k', {}, null])('a hook throws for %j instead of a key or a store', wrong => {
    const { store } = open()
    const argument = expect.objectContaining({ code: 'argument' })
    // @ts-expect-error a key is made by a store
    expect(() => renderToString(createElement(() => JSON.stringify(useKey(wrong))))).toThrow(argument)
    // @ts-expect-error a store is made by connect
    expect(() => renderToString(createElement(() => JSON.stringify(useStatus(wrong))))).toThrow(argument)
    // @ts-expect-error a key has no status
    expect(() => renderToString(createElement(() => JSON.stringify(useStatus(store.key('k', text)))))).toThrow(argument)
  })
})
