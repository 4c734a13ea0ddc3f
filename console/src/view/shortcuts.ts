import type { Console } from '../state/console.js'
import { focusList } from './keys/focus.js'

const VIEWS = { 1: 'keys', 2: 'clients', 3: 'store', 4: 'metrics' } as const

/** Handles global shortcuts, except while typing or in a dialog. Returns a function that stops handling them. */
export function listenForShortcuts(page: Document, console: Console): () => void {
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
    if (page.querySelector('dialog[open]') !== null) return
    const typing = event.target instanceof HTMLElement && event.target.closest('input, textarea, select') !== null
    if (event.key === 'Escape') closeOrClear(page, console)
    else if (entersList(event, page)) focusList(page)
    else if (typing || !runShortcut(event.key, page, console)) return
    event.preventDefault()
  }
  page.addEventListener('keydown', onKeyDown)
  return () => page.removeEventListener('keydown', onKeyDown)
}

/**
 * Returns whether a key moves the focus into the list: an arrow key from the search or if nothing has the focus, and
 * Enter from the search.
 */
function entersList({ key, target }: KeyboardEvent, page: Document): boolean {
  const fromSearch = target instanceof HTMLElement && target.id === 'search'
  const leavesSearch = key === 'ArrowDown' || key === 'Enter'
  const fromNowhere = target === page.body && (key === 'ArrowDown' || key === 'ArrowUp')
  return (fromNowhere || (fromSearch && leavesSearch)) && page.querySelector('.grid-body [tabindex="0"]') !== null
}

function runShortcut(key: string, page: Document, console: Console): boolean {
  const { dialog$, folding } = console
  if (key === '/') focusSearch(page, console)
  else if (key === 'n') dialog$.next({ type: 'set' })
  else if (key === 't') folding.toggle()
  else if (key === '?') dialog$.next({ type: 'keyboard' })
  else if (key === 'e' || key === 'Delete') return actOnOpenKey(key, console)
  else if (key === '1' || key === '2' || key === '3' || key === '4') console.navigate({ view: VIEWS[key] })
  else return false
  return true
}

/** Edits or deletes the open key. In the list, the keys act on the focused row instead. */
function actOnOpenKey(pressed: 'e' | 'Delete', { open$, rows$, dialog$ }: Console): boolean {
  const key = open$.value
  if (key === undefined) return false
  const entry = rows$.value.get(key.id)?.entry
  if (pressed === 'e' && entry) dialog$.next({ type: 'set', key })
  else if (pressed === 'Delete' && entry?.value) dialog$.next({ type: 'delete', key, value: entry.value })
  else return false
  return true
}

function focusSearch(page: Document, { navigate }: Console): void {
  const focus = (): void => {
    const search = page.querySelector<HTMLInputElement>('#search')
    search?.focus()
    search?.select()
  }
  if (page.querySelector('#search')?.checkVisibility()) focus()
  else {
    // Opens the keys view first, because the search is missing in other views, and hidden behind the open key on small
    // screens.
    navigate({ view: 'keys' })
    requestAnimationFrame(focus)
  }
}

/** Closes the open key and focuses its row. Without an open key, clears the search. */
function closeOrClear(page: Document, { route$, searchText$, dialog$, navigate }: Console): void {
  const route = route$.value
  // A dialog whose code cannot be loaded is not in the page.
  if (dialog$.value !== undefined) dialog$.next(undefined)
  else if (route.view === 'keys' && route.id !== undefined) {
    navigate({ view: 'keys' })
    requestAnimationFrame(() => focusList(page))
  } else if (searchText$.value !== '') searchText$.next('')
}
