// Components for the specs, in a browser and on a server.

import { createElement as h, Profiler, type ReactNode, useEffect, useState } from 'react'
import { type Codec, json, number, type StateStore, type StateStoreError } from '../../../src/client/index.js'
import { matching } from '../../../src/client/matching/index.js'
import { useKey, useKeys, useStatus } from '../../../src/client/react/index.js'

/** The rendered texts in order, and the number of commits. */
export interface Notes {
  readonly shown: string[]
  commits: number
}

interface Props {
  readonly store: StateStore
  readonly notes: Notes
}

/** Renders a value as typical code reads it, with the key and optionally its codec created while rendering. */
export function Value({
  store,
  notes,
  name,
  codec = number,
}: Props & { readonly name: string; readonly codec?: Codec<number> }): ReactNode {
  const { value, entry, freshness, error } = useKey(store.key(name, codec))
  const text = [name, value ?? entry?.op ?? 'nothing', freshness.state, error?.code].filter(Boolean).join(' ')
  useEffect(() => {
    notes.shown.push(text)
  }, [text, notes])
  return h('output', { title: name }, text)
}

/** Records every object whose identity is new to React. The codec is created while rendering. */
export function Asset({ store, notes, name }: Props & { readonly name: string }): ReactNode {
  const { value, freshness } = useKey(store.key(name, json<{ id: number }>()))
  useEffect(() => {
    notes.shown.push(`asset ${value?.id}`)
  }, [value, notes])
  return h('output', { title: name }, `asset ${value?.id} ${freshness.state}`)
}

/** Renders all keys that match a glob, with the handle created while rendering, or the given keys. */
export function Keys({ store, notes, names }: Props & { readonly names: readonly string[] }): ReactNode {
  const [glob = '*'] = names
  const source = names.length > 1 ? names.map(name => store.key(name, number)) : matching(store, glob, number)
  const { values, freshness, error } = useKeys<number>(source)
  const pairs = Array.from(values, ([name, value]) => `${name}=${value}`).sort()
  const text = [...pairs, freshness.state, error?.code].filter(Boolean).join(' ')
  useEffect(() => {
    notes.shown.push(text)
  }, [text, notes])
  return h('output', { title: 'keys' }, text)
}

/** Renders whether a value is warm and how many keys match a glob, and uses no other properties. */
export function Warm({ store, name }: Props & { readonly name: string }): ReactNode {
  const isWarm = useKey(store.key(name, number), ({ value }) => value !== undefined && value > 25)
  const [count] = useKeys(
    matching(store, '*', number),
    ({ values }) => [values.size],
    (before, after) => before[0] === after[0],
  )
  return h('output', { title: 'warm' }, `${isWarm ? 'warm' : 'cold'} ${count}`)
}

export function Connection({ store }: Props): ReactNode {
  const { state } = useStatus(store)
  return h('output', { title: 'status' }, state)
}

/** Renders itself and its children again whenever the client reports a fault. */
export function Faults({ store, render }: Props & { readonly render: () => ReactNode }): ReactNode {
  const [faults, setFaults] = useState<readonly StateStoreError[]>([])
  useEffect(() => {
    const subscription = store.errors$.subscribe(error => setFaults(before => [...before, error]))
    return () => subscription.unsubscribe()
  }, [store])
  return h('section', null, h('output', { title: 'faults' }, faults.map(({ code }) => code).join(' ')), render())
}

export const Counted = ({ notes, render }: Props & { readonly render: () => ReactNode }): ReactNode =>
  h(Profiler, { id: 'all', onRender: () => void notes.commits++ }, render())
