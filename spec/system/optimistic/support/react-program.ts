// Runs in the browser: components that write a key of the store in the URL of the page.

import { createElement as h, type ReactNode, StrictMode, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { connect, number, text } from '../../../../src/client/index.js'
import { indexedDbStorage, type Optimistic, optimistic } from '../../../../src/client/optimistic/index.js'
import { useWritableKey } from '../../../../src/client/react/writable.js'

const store = connect(new URLSearchParams(location.search).get('store') ?? '', {
  clientId: 'page',
  reconnect: { initial: 5, max: 20 },
  stopDelay: 0,
})
const shown: string[] = []
const setters = new Set<unknown>()

interface DialProps {
  readonly title: string
  readonly view?: Optimistic<number> | undefined
  readonly step?: number | undefined
}

/** A dial as in typical applications, where key and options are created on every rendering. */
function Dial({ title, view, step = 1 }: DialProps): ReactNode {
  const [value, set, { state, error, isPending }] = useWritableKey(view ?? store.key('setPoint', number), {
    conflict: (mine, theirs = 0) => mine + theirs + step,
    offline: 'latest',
    storage: indexedDbStorage(),
  })
  const text = [value ?? '-', state, isPending && 'busy', error?.code].filter(Boolean).join(' ')
  setters.add(set)
  useEffect(() => {
    shown.push(text)
  }, [text])
  return h('button', { type: 'button', title, onClick: () => set((value ?? 0) + 1) }, text)
}

function Scene({ isShared }: { readonly isShared: boolean }): ReactNode {
  const [step, setStep] = useState(1)
  const [isShown, setShown] = useState(true)
  const [view] = useState(() => (isShared ? optimistic(store.key('setPoint', number)) : undefined))
  Reflect.set(globalThis, 'rerender', (to: number) => setStep(to))
  Reflect.set(globalThis, 'unmount', () => setShown(false))
  if (!isShown) return 'gone'
  return h(
    'main',
    { title: `step ${step}` },
    h(Dial, { title: 'one', view, step }),
    isShared && h(Dial, { title: 'two', view }),
  )
}

const controls = {
  shown: (): readonly string[] => shown,
  setters: (): number => setters.size,
  show: (isShared: boolean): void =>
    createRoot(document.querySelector('#root') ?? document.body).render(h(StrictMode, null, h(Scene, { isShared }))),
  settled: async (): Promise<void> => void (await store.key('marker', text).get()),
}

Reflect.set(globalThis, 'bench', controls)

/** Functions for specs to call in the page. */
export type Controls = typeof controls
