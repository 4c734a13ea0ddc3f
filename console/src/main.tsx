import { render } from 'preact'
import { randomBytes, toHex } from '../../src/core/util/bytes.js'
import { saveToken, takeToken } from './api/token.js'
import { type Console, openConsole } from './state/console.js'
import { themes } from './state/theme.js'
import { App, TokenPage } from './view/app.js'
import { preload } from './view/lazy.js'

const root = document.body
const theme$ = themes(document.documentElement, localStorage)
const tokenSources = { location, history, storage: sessionStorage }
const clientId = `console-${toHex(randomBytes(4)).toLowerCase()}`
let open: Console | undefined

function start(token: string | undefined): void {
  open?.close()
  open = token === undefined ? undefined : openConsole('./', token, clientId)
  render(open ? <App console={open} theme$={theme$} onToken={retry} /> : <TokenPage onToken={retry} />, root)
}

function retry(token: string): void {
  saveToken(token, tokenSources)
  start(token)
}

start(takeToken(tokenSources))
// A URL with a new token may be entered in the address bar of an open page.
addEventListener('hashchange', () => location.hash.startsWith('#token=') && start(takeToken(tokenSources)))
// Closes the store properly, because a DISCONNECT releases the session immediately.
addEventListener('pagehide', () => open?.close())
addEventListener('pageshow', ({ persisted }) => persisted && start(takeToken(tokenSources)))
// A failure is not reported here, because each view loads again when it is shown.
whenIdle(() => preload().catch(() => undefined))

/** Runs a task after the first paint, when the browser is idle. */
function whenIdle(task: () => void): void {
  requestAnimationFrame(() => (globalThis.requestIdleCallback ?? setTimeout)(() => task()))
}
