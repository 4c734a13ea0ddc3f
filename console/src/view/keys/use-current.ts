import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { currentRow } from '../../model/window.js'
import { focusSearch } from './focus.js'

/** The row the keyboard acts on. */
export interface Current {
  /** Its place in the list. */
  readonly current: number
  activate(id: string | undefined): void
}

/**
 * Follows a key, not a place: others add and remove keys above it. When the row with the focus goes, the one that takes
 * its place gets it, or the search when there is none.
 */
export function useCurrent(ref: RefObject<HTMLElement | null>, rows: readonly { readonly id: string }[]): Current {
  const [id, activate] = useState<string>()
  const last = useRef(0)
  const current = currentRow(rows, id, last.current)
  // Asked before the rows change: the browser does not tell that an element with the focus was removed.
  const focused = hasFocus(ref.current)
  useLayoutEffect(() => {
    last.current = current
    if (!focused) return
    ref.current?.querySelector<HTMLElement>(`[aria-rowindex="${current + 2}"]`)?.focus({ preventScroll: true })
  })
  useLayoutEffect(() => {
    const grid = ref.current
    return () => {
      if (hasFocus(grid)) focusSearch(document)
    }
  }, [ref])
  return { current, activate }
}

const hasFocus = (grid: HTMLElement | null): boolean => grid?.contains(document.activeElement) === true
