import type { Console } from '../state/console.js'
import { focusList } from './keys/focus.js'

const VIEWS = { 1: 'keys', 2: 'clients', 3: 'store' } as const

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
 * Returns whether an arrow key moves the focus into the list, which it does from the search or if nothing has the
 * focus.
 */
function entersList({ key, target }: KeyboardEvent, page: Document): boolean {
  const fromSearch = target instanceof HTMLElement && target.id === 'search'
  const fromNowhere = target === page.body && (key === 'ArrowDown' || key === 'ArrowUp')
  return (
    (fromNowhere || (fromSearch && key === 'ArrowDown')) && page.querySelector('.grid-body [tabindex="0"]') !== null
  )
}

function runShortcut(key: string, page: Document, console: Console): boolean {
  const { dialog$, folding } = console
  if (key === '/') focusSearch(page, console)
  else if (key === 'n') dialog$.next({ type: 'set' })
  else if (key === 't') folding.toggle()
  else if (key === '?') dialog$.next({ type: 'keyboard' })
  else if (key === '1' || key === '2' || key === '3') console.navigate({ view: VIEWS[key] })
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
function closeOrClear(page: Document, { route$, searchText$, navigate }: Console): void {
  const route = route$.value
  if (route.view === 'keys' && route.id !== undefined) {
    navigate({ view: 'keys' })
    requestAnimationFrame(() => focusList(page))
  } else if (searchText$.value !== '') searchText$.next('')
}
