import type { Console } from '../state/console.js'
import { focusList } from './keys/focus.js'

const VIEWS = { 1: 'keys', 2: 'clients', 3: 'store' } as const

/** Hears the keys that work everywhere, but where somebody types or a dialog is open; the result ends that. */
export function hearKeys(page: Document, console: Console): () => void {
  const hear = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
    if (page.querySelector('dialog[open]') !== null) return
    const typing = event.target instanceof HTMLElement && event.target.closest('input, textarea, select') !== null
    if (event.key === 'Escape') leave(page, console)
    else if (entersList(event, page)) focusList(page)
    else if (typing || !press(event.key, page, console)) return
    event.preventDefault()
  }
  page.addEventListener('keydown', hear)
  return () => page.removeEventListener('keydown', hear)
}

/** An arrow goes into the list from where no other row, field or button has it: a fresh page, and the search. */
function entersList({ key, target }: KeyboardEvent, page: Document): boolean {
  const fromSearch = target instanceof HTMLElement && target.id === 'search'
  const fromNowhere = target === page.body && (key === 'ArrowDown' || key === 'ArrowUp')
  return (
    (fromNowhere || (fromSearch && key === 'ArrowDown')) && page.querySelector('.grid-body [tabindex="0"]') !== null
  )
}

function press(key: string, page: Document, console: Console): boolean {
  const { dialog$, folding } = console
  if (key === '/') focusSearch(page, console)
  else if (key === 'n') dialog$.next({ type: 'set' })
  else if (key === 't') folding.toggle()
  else if (key === '?') dialog$.next({ type: 'keyboard' })
  else if (key === '1' || key === '2' || key === '3') console.go({ view: VIEWS[key] })
  else return false
  return true
}

function focusSearch(page: Document, { go }: Console): void {
  const focus = (): void => {
    const search = page.querySelector<HTMLInputElement>('#search')
    search?.focus()
    search?.select()
  }
  if (page.querySelector('#search')?.checkVisibility()) focus()
  else {
    // It is not there in other views, and hidden behind the open key where there is little room.
    go({ view: 'keys' })
    requestAnimationFrame(focus)
  }
}

/** Closes the open key and goes back to its row, or else clears the search. */
function leave(page: Document, { route$, typed$, go }: Console): void {
  const route = route$.value
  if (route.view === 'keys' && route.id !== undefined) {
    go({ view: 'keys' })
    requestAnimationFrame(() => focusList(page))
  } else if (typed$.value !== '') typed$.next('')
}
