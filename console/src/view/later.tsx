import type { FunctionComponent, JSX } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { ConsoleContext } from './context.js'

/** Views that come up only after something was done; with them the page would take longer to come. */
export const loadMore = (): Promise<typeof import('./more.js')> => import('./more.js')

/** Stands for a view of those until it is loaded; `fallback` for what it needs room for. */
export function later<P extends object>(
  choose: (more: typeof import('./more.js')) => FunctionComponent<P>,
  fallback: JSX.Element | null = null,
): FunctionComponent<P> {
  return props => {
    const toasts = useContext(ConsoleContext)?.toasts
    const [found, find] = useState<{ readonly View: FunctionComponent<P> }>()
    useEffect(() => {
      loadMore().then(
        more => find({ View: choose(more) }),
        (cause: unknown) => toasts?.bad(cause),
      )
    }, [toasts])
    return found ? <found.View {...props} /> : fallback
  }
}
