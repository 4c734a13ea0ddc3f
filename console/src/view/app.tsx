import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { BehaviorSubject } from 'rxjs'
import type { Console } from '../state/console.js'
import type { Theme } from '../state/theme.js'
import { Announcer } from './announcer.js'
import { ConsoleContext } from './context.js'
import { Footer } from './footer.js'
import { Header } from './header.js'
import { KeysView } from './keys/keys-view.js'
import { Toolbar } from './keys/toolbar.js'
import { later } from './later.js'
import { Nav } from './nav.js'
import { hearKeys } from './shortcuts.js'
import { ToastList } from './toasts.js'
import { useCell } from './use-cell.js'

/** What the page needs. */
export interface AppProps {
  readonly console: Console
  readonly theme$: BehaviorSubject<Theme>
  onToken(token: string): void
}

/** Asks for the token. */
export const TokenPage = later(more => more.TokenPage)

const PLACE = <main class="page" />
const ClientsView = later(more => more.ClientsView, PLACE)
const StoreView = later(more => more.StoreView, PLACE)
const Dialogs = later(more => more.Dialogs)
const VIEWS = { keys: KeysView, clients: ClientsView, store: StoreView }

/** The page. */
export function App({ console, theme$, onToken }: AppProps): JSX.Element {
  const { view } = useCell(console.route$)
  const health = useCell(console.health$)
  const dialog = useCell(console.dialog$)
  useEffect(() => hearKeys(document, console), [console])
  if (health.state === 'refused') return <TokenPage refused={health.why} onToken={onToken} />
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
