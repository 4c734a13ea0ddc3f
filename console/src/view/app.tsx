import type { JSX } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import type { BehaviorSubject } from 'rxjs'
import type { Console } from '../state/console.js'
import type { Theme } from '../state/theme.js'
import { Announcer } from './announcer.js'
import { Footer } from './footer.js'
import { Header } from './header.js'
import { Toolbar } from './keys/toolbar.js'
import { KeysView } from './keys-view.js'
import { lazy } from './lazy.js'
import { Nav } from './nav.js'
import { ConsoleContext } from './parts/context.js'
import { useCell } from './parts/use-cell.js'
import { listenForShortcuts } from './shortcuts.js'
import { ToastList } from './toasts.js'

export interface AppProps {
  readonly console: Console
  readonly theme$: BehaviorSubject<Theme>
  onToken(token: string): void
}

export const TokenPage = lazy(more => more.TokenPage)

const page = (content: JSX.Element | undefined): JSX.Element => <main class="page">{content}</main>
const ClientsView = lazy(more => more.ClientsView, page)
const StoreView = lazy(more => more.StoreView, page)
const MetricsView = lazy(more => more.MetricsView, page)
const Dialogs = lazy(
  more => more.Dialogs,
  content => (content ? <div class="unreachable-dialog">{content}</div> : null),
)
const VIEWS = { keys: KeysView, clients: ClientsView, store: StoreView, metrics: MetricsView }

export function App({ console, theme$, onToken }: AppProps): JSX.Element {
  const { view } = useCell(console.route$)
  const health = useCell(console.health$)
  const dialog = useCell(console.dialog$)
  // Keys that are pressed before the first paint count.
  useLayoutEffect(() => listenForShortcuts(document, console), [console])
  if (health.state === 'refused' && health.by === 'console') return <TokenPage isRejected onToken={onToken} />
  const View = VIEWS[view]
  return (
    <ConsoleContext.Provider value={console}>
      <div class={`app app-${health.state}`}>
        <Header theme$={theme$} />
        <Nav>{view === 'keys' && <Toolbar />}</Nav>
        <View />
        <Footer />
      </div>
      {dialog && <Dialogs />}
      <ToastList />
      <Announcer />
    </ConsoleContext.Provider>
  )
}
