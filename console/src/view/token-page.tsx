import type { JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Brand } from './header.js'

export interface TokenPageProps {
  readonly refused?: string | undefined
  onToken(token: string): void
}

/** Asks the user for the token if it is missing or was rejected. */
export function TokenPage({ refused, onToken }: TokenPageProps): JSX.Element {
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
        <h2>{refused === undefined ? 'Token required' : 'Token rejected'}</h2>
        <p>Open the URL that the server printed at startup; it contains the token.</p>
        {refused !== undefined && (
          <p class="problem" role="alert">
            {refused}
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
