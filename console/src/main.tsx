import { render } from 'preact'
import { randomBytes, toHex } from '../../src/core/util/bytes.js'
import { keepToken, takeToken } from './api/token.js'
import { type Console, openConsole } from './state/console.js'
import { themes } from './state/theme.js'
import { App, TokenPage } from './view/app.js'
import { loadMore } from './view/later.js'

const root = document.body
const theme$ = themes(document.documentElement, localStorage)
const place = { location, history, storage: sessionStorage }
const clientId = `console-${toHex(randomBytes(4)).toLowerCase()}`
let open: Console | undefined

function start(token: string | undefined): void {
  open?.close()
  open = token === undefined ? undefined : openConsole('./', token, clientId)
  render(open ? <App console={open} theme$={theme$} onToken={retry} /> : <TokenPage onToken={retry} />, root)
}

function retry(token: string): void {
  keepToken(token, place)
  start(token)
}

start(takeToken(place))
// The address with the token may be pasted over that of the open page.
addEventListener('hashchange', () => location.hash.startsWith('#token=') && start(takeToken(place)))
// A polite end frees the connection at once.
addEventListener('pagehide', () => open?.close())
addEventListener('pageshow', ({ persisted }) => persisted && start(takeToken(place)))
// The rest of the page is there with the first thing somebody does, and stays when the server goes away.
for (const deed of ['pointerdown', 'keydown']) {
  addEventListener(deed, () => loadMore().catch(() => undefined), { once: true })
}
