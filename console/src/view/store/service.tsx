import type { JSX } from 'preact'
import type { AttachedFacts } from '../../../../src/server/console/contract.js'
import { useConsole } from '../parts/context.js'
import { useCell } from '../parts/use-cell.js'
import { Action, Card } from './card.js'

const STATES: Readonly<Record<AttachedFacts['state'], string>> = {
  connecting: 'Connecting',
  serving: 'Active',
  standby: 'Standby',
  reconnecting: 'Broker unreachable',
  closed: 'Stopped',
}

const HINTS: Readonly<Partial<Record<AttachedFacts['state'], string>>> = {
  serving: 'Serves requests through the broker.',
  standby: 'Another store is active; this one takes over if it fails.',
}

/** Shows the state of a store that is attached to an external broker. @param at - URL of the broker */
export function Service({ at }: { readonly at: string }): JSX.Element {
  const { last } = useCell(useConsole().stats$)
  const { state, why } = last?.attached ?? { state: 'connecting' as const }
  return (
    <Card title="Broker" hint={`Attached to ${at}.`}>
      <Action title={STATES[state]} hint={HINTS[state] ?? `${why ?? 'Checking'}.`} />
    </Card>
  )
}
