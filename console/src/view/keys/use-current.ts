import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { currentRow } from '../../model/window.js'
import { focusSearch } from './focus.js'

export interface Current {
  readonly current: number
  activate(id: string | undefined): void
}

/**
 * Tracks the active row by its key, because other clients add and remove keys above it. If the focused row disappears,
 * the row that takes its position gets the focus, or the search if no row is left.
 */
export function useCurrent(ref: RefObject<HTMLElement | null>, rows: readonly { readonly id: string }[]): Current {
  const [id, activate] = useState<string>()
  const last = useRef(0)
  const current = currentRow(rows, id, last.current)
  // The focus must be read before the rows change, because browsers fire no event when a focused element is removed.
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
