import type { ComponentChildren, JSX } from 'preact'
import { STATES, type State } from '../../../../design/states.js'
import { useConsole } from './context.js'
import { Icon } from './icon.js'
import { useCell } from './use-cell.js'

/** The states of displayed data and of writes. `frozen` is a `stale` that the user has caused. */
export type DisplayState = State | 'frozen'

const wordOf = (state: DisplayState): string => (state === 'frozen' ? 'Frozen' : STATES[state].word)

interface StateMarkProps {
  readonly state: DisplayState
  /** Replaces the word. */
  readonly word?: string
  readonly children?: ComponentChildren
}

export const StateMark = ({ state, word = wordOf(state), children }: StateMarkProps): JSX.Element => (
  <span class="state" data-state={state}>
    <Icon name={state} />
    <span>{word}</span>
    {children}
  </span>
)

/** Shown for a value that is not known, which differs from zero. */
export const UNKNOWN = '–'

/** Returns whether rates and counts are current. Otherwise the page shows {@link UNKNOWN} instead. */
export function useIsCurrent(): boolean {
  const { state } = useCell(useConsole().health$)
  return state === 'live' || state === 'frozen'
}
