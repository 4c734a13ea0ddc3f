import type { JSX } from 'preact'
import type { AttachedFacts } from '../../../../src/server/console/contract.js'
import { useConsole } from '../context.js'
import { useCell } from '../use-cell.js'
import { Card, Deed } from './card.js'

const STATES: Readonly<Record<AttachedFacts['state'], string>> = {
  connecting: 'On its way',
  serving: 'Serves',
  standby: 'Standby',
  reconnecting: 'Away from its broker',
  closed: 'Stopped',
}

const HINTS: Readonly<Partial<Record<AttachedFacts['state'], string>>> = {
  serving: 'Requests come and go through the broker.',
  standby: 'Another store serves at the broker; this one takes over when it is gone.',
}

/** What a store does at a broker of somebody else. @param at - where that is */
export function Service({ at }: { readonly at: string }): JSX.Element {
  const { last } = useCell(useConsole().pulses$)
  const { state, why } = last?.attached ?? { state: 'connecting' as const }
  return (
    <Card title="At the broker" hint={`Attached to ${at}, a broker of somebody else.`}>
      <Deed title={STATES[state]} hint={HINTS[state] ?? `${why ?? 'Finding out'}.`} />
    </Card>
  )
}
