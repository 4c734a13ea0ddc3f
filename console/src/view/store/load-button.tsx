import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { useConsole } from '../parts/context.js'
import { Icon } from '../parts/icon.js'

export function LoadButton({ disabled }: { readonly disabled: boolean }): JSX.Element {
  const { dialog$ } = useConsole()
  const input = useRef<HTMLInputElement>(null)
  const chosen = (): void => {
    const file = input.current?.files?.[0]
    if (file) dialog$.next({ type: 'load', file })
    // Clears the input, so that the same file can be chosen again.
    if (input.current) input.current.value = ''
  }
  return (
    <>
      <input ref={input} type="file" hidden aria-label="Dump to load" onChange={chosen} />
      <button type="button" class="button" disabled={disabled} onClick={() => input.current?.click()}>
        <Icon name="up" />
        Load…
      </button>
    </>
  )
}
