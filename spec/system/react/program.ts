// Runs in the browser: the scenes of the specs, with a client for the store in the URL of the page.

import { createElement as h, type ReactNode, StrictMode, startTransition, useState } from 'react'
import { createRoot, hydrateRoot, type Root } from 'react-dom/client'
import { filter, firstValueFrom, Observable } from 'rxjs'
import { type Codec, connect, number, type Status, text } from '../../../src/client/index.js'
import { Asset, Connection, Counted, Faults, Keys, type Notes, Value, Warm } from './panel.js'

const url = new URLSearchParams(location.search).get('store') ?? ''
const store = connect(url, { clientId: 'page', reconnect: { initial: 5, max: 20 }, stopDelay: 0 })
let statusSubscribers = 0
const { status$ } = store
const counted$ = new Observable<Status>(subscriber => {
  statusSubscribers++
  subscriber.add(() => statusSubscribers--)
  status$.subscribe(subscriber)
})
Object.defineProperty(store, 'status$', { value: counted$ })
const notes: Notes = { shown: [], commits: 0 }
const common = { store, notes }

/** Returns a new codec on every call, as if it were created in a component. */
const inline = (): Codec<number> => ({ encode: number.encode, decode: stored => number.decode(stored) })

function Switch({ keys, scene }: { readonly keys: readonly string[]; readonly scene: Scene }): ReactNode {
  const [step, setStep] = useState(0)
  Reflect.set(globalThis, 'step', (to: number) => setStep(to))
  Reflect.set(globalThis, 'stepInTransition', (to: number) => startTransition(() => setStep(to)))
  return scene(step, keys)
}

type Scene = (step: number, keys: readonly string[]) => ReactNode

const value = (name: string, props: { readonly key?: string; readonly codec?: Codec<number> } = {}): ReactNode =>
  h(Value, { ...common, name, ...props })

const SCENES: Record<string, Scene> = {
  /** A component that is rendered again at each step. */
  one: (step, [name = '']) => h('section', { title: `step ${step}` }, value(name)),
  /** Two components with one key. The first unmounts at the first step, and the other at the second. */
  two: (step, [name = '']) => h('section', null, step < 1 && value(name), step < 2 && value(name)),
  /** A component that replaces another one with the same key. */
  place: (step, [name = '']) => value(name, { key: String(step) }),
  change: (step, keys) => value(keys[step] ?? ''),
  codecs: (step, [name = '']) =>
    h(Faults, { ...common, render: () => value(name, { key: `${step}`, codec: inline() }) }),
  /** A component of objects that is rendered again at each step. */
  asset: (step, [name = '']) => h('section', { title: `step ${step}` }, h(Asset, { ...common, name })),
  /** A component of a glob or of several keys that is rendered again at each step. */
  keys: (step, names) => h('section', { title: `step ${step}` }, h(Keys, { ...common, names })),
  /** Two components with one glob. The second unmounts at the first step. */
  globs: (step, names) => h('section', null, h(Keys, { ...common, names }), step < 1 && h(Keys, { ...common, names })),
  warm: (_step, [name = '']) => h(Warm, { ...common, name }),
  /** The connection state and a key. The key unmounts at the first step. */
  status: (step, [name = '']) => h('section', null, h(Connection, common), step < 1 && value(name)),
}

let root: Root | undefined

const controls = {
  notes,
  /** Renders a scene, in StrictMode by default. */
  show(name: string, keys: readonly string[], strict = true): void {
    const scene = SCENES[name] ?? (() => `no scene ${name}`)
    const content = h(Counted, { ...common, render: () => h(Switch, { keys, scene }) })
    root = createRoot(document.querySelector('#root') ?? document.body)
    root.render(strict ? h(StrictMode, null, content) : content)
  },
  hydrate(name: string): void {
    const container = document.querySelector('#root') ?? document.body
    root = hydrateRoot(container, h(StrictMode, null, value(name), h(Connection, common)))
  },
  hide: (): void => root?.unmount(),
  statusSubscribers: (): number => statusSubscribers,
  close: (): Promise<void> => store.close(),
  /** Resolves in a connection state, and for `connected` after all keys have been read. */
  until: async (state: Status['state']): Promise<void> => {
    await firstValueFrom(status$.pipe(filter(status => status.state === state)))
    if (state === 'connected') await firstValueFrom(store.stats$.pipe(filter(({ keys, synced }) => keys === synced)))
  },
  /** Resolves when all earlier requests are complete. */
  settled: async (): Promise<void> => void (await firstValueFrom(store.key('marker', text).get())),
}

Reflect.set(globalThis, 'bench', controls)

/** Functions that specs call in the page. */
export type Controls = typeof controls
