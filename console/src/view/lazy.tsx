import type { FunctionComponent, JSX } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { ConsoleContext } from './context.js'

/** Loads the views that are not needed for the first paint. */
export const loadMore = (): Promise<typeof import('./more.js')> => import('./more.js')

/** Wraps a lazily loaded view. `fallback` reserves the space of the view. */
export function lazy<P extends object>(
  choose: (more: typeof import('./more.js')) => FunctionComponent<P>,
  fallback: JSX.Element | null = null,
): FunctionComponent<P> {
  return props => {
    const toasts = useContext(ConsoleContext)?.toasts
    const [loaded, setLoaded] = useState<{ readonly View: FunctionComponent<P> }>()
    useEffect(() => {
      loadMore().then(
        more => setLoaded({ View: choose(more) }),
        (cause: unknown) => toasts?.failure(cause),
      )
    }, [toasts])
    return loaded ? <loaded.View {...props} /> : fallback
  }
}
