import type { ComponentChildren, JSX } from 'preact'
import { useConsole } from './context.js'
import { Icon } from './icon.js'
import { useCell } from './use-cell.js'

/**
 * The states of displayed data and of writes. Each has an icon and a colour of this name, and a word. `frozen` is a
 * `stale` that the user has caused.
 */
const WORDS = {
  connecting: 'connecting',
  live: 'live',
  pending: 'saving',
  stale: 'stale',
  frozen: 'frozen',
  refused: 'no access',
} as const

export type DisplayState = keyof typeof WORDS

interface StateMarkProps {
  readonly state: DisplayState
  /** Replaces the word. */
  readonly word?: string
  readonly children?: ComponentChildren
}

export const StateMark = ({ state, word = WORDS[state], children }: StateMarkProps): JSX.Element => (
  <span class={`state state-${state}`}>
    <Icon name={state} />
    <span>{word}</span>
    {children}
  </span>
)

/** Shown for a value that is not known, which differs from zero. */
export const UNKNOWN = '–'

/** Returns whether rates and counts are current. Those that are not are shown as {@link UNKNOWN}. */
export function useIsCurrent(): boolean {
  const { state } = useCell(useConsole().health$)
  return state === 'live' || state === 'frozen'
}
