import type { JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Brand } from './header.js'

export interface TokenPageProps {
  /** Whether the server has rejected a token. Default: `false`. */
  readonly isRejected?: boolean
  onToken(token: string): void
}

/** Asks the user for the token if it is missing or was rejected. */
export function TokenPage({ isRejected = false, onToken }: TokenPageProps): JSX.Element {
  const [token, setToken] = useState('')
  const input = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => input.current?.focus(), [])
  const submit = (event: Event): void => {
    event.preventDefault()
    if (token.trim() !== '') onToken(tokenOf(token.trim()))
  }
  return (
    <main class="door">
      <form class="door-form" onSubmit={submit}>
        <Brand />
        <h2>{isRejected ? 'Token rejected' : 'Token required'}</h2>
        <p>Open the URL that the server printed at startup; it contains the token.</p>
        {isRejected && (
          <p class="problem" role="alert">
            The token is wrong. A restart of the server may have changed it.
          </p>
        )}
        <label class="field">
          <span>Token or URL</span>
          <input
            ref={input}
            class="mono"
            autocomplete="off"
            spellcheck={false}
            value={token}
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
          />
        </label>
        <button type="submit" class="button primary">
          Open console
        </button>
      </form>
    </main>
  )
}

const tokenOf = (typed: string): string => /#token=([^&]+)/.exec(typed)?.[1] ?? typed
