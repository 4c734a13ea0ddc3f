import type { JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Brand } from './header.js'

/** Asks for the token, without which nothing is shown. */
export interface TokenPageProps {
  /** Why the one there was does not do. */
  readonly refused?: string | undefined
  onToken(token: string): void
}

/** Stands for the page when there is no token, or the server does not take it. */
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
        <h2>{refused === undefined ? 'This page needs a token' : 'The token was refused'}</h2>
        <p>
          Open the address that <code>rx-statestore --console</code> printed when it started: the token is in it. Every
          start makes a new one.
        </p>
        {refused !== undefined && (
          <p class="problem" role="alert">
            {refused}
          </p>
        )}
        <label class="field">
          <span>Token, or the whole address</span>
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
          Open the console
        </button>
      </form>
    </main>
  )
}

const tokenOf = (typed: string): string => /#token=([^&]+)/.exec(typed)?.[1] ?? typed
