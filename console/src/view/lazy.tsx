import type { FunctionComponent, JSX } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { filter, skip } from 'rxjs'
import { ConsoleContext } from './parts/context.js'
import { adopt } from './parts/style-sheet.js'
import { Unreachable } from './unreachable.js'

type More = typeof import('./more.js')

/** Loads the views that are not needed for the first paint. A failed attempt can be repeated. */
async function loadMore(): Promise<More> {
  const more = await import('./more.js')
  adopt(more.sheet)
  return more
}

/** Loads the remaining views and the chart library before they are needed, because the server may fail. */
export const preload = async (): Promise<void> => {
  await loadMore()
  await import('./detail/chart.js')
}

/** Places the content of a view that is not loaded; `undefined` while the view is loading. */
type Frame = (content: JSX.Element | undefined) => JSX.Element | null

const NO_FRAME: Frame = content => content ?? null

/** Wraps a lazily loaded view. `frame` reserves the view's space. */
export function lazy<P extends object>(
  choose: (more: More) => FunctionComponent<P>,
  frame: Frame = NO_FRAME,
): FunctionComponent<P> {
  return props => {
    const health$ = useContext(ConsoleContext)?.health$
    const [loaded, setLoaded] = useState<{ readonly View: FunctionComponent<P> }>()
    const [attempt, setAttempt] = useState(0)
    const [hasFailed, setHasFailed] = useState(false)
    const retry = (): void => setAttempt(n => n + 1)
    // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt loads again
    useEffect(() => {
      loadMore().then(
        more => setLoaded({ View: choose(more) }),
        () => setHasFailed(true),
      )
    }, [attempt])
    useEffect(() => {
      if (!hasFailed || health$ === undefined) return
      const returned = health$
        .pipe(
          skip(1),
          filter(({ state }) => state === 'live'),
        )
        .subscribe(() => setAttempt(n => n + 1))
      return () => returned.unsubscribe()
    }, [hasFailed, health$])
    if (loaded) return <loaded.View {...props} />
    return frame(hasFailed ? <Unreachable isLive={health$?.value.state === 'live'} onRetry={retry} /> : undefined)
  }
}
