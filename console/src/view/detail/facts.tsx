import type { ComponentChildren, JSX } from 'preact'
import { size } from '../../model/amount.js'
import { goneWord } from '../../model/gone.js'
import { dateAndTime, left, span } from '../../model/time.js'
import type { Detail } from '../../state/detail.js'
import type { Row } from '../../state/row-book.js'
import { useConsole } from '../context.js'
import { useCell } from '../use-cell.js'

/** What is known of the open key besides its value. */
export function Facts({ detail, row }: { readonly detail: Detail; readonly row: Row }): JSX.Element {
  const now = useCell(useConsole().now$)
  const { entry } = detail.seen
  const { facts } = row
  const written = entry?.version?.wallClock
  const there = entry?.value !== undefined
  const others = facts && there ? Math.max(0, facts.watchers - 1) : undefined
  return (
    <dl class="facts">
      <Fact name="Age">{written !== undefined && span(now - written)}</Fact>
      <Fact name="Expires">{there && facts && expiryWords(facts.expiresAt, now)}</Fact>
      <Fact name="Watchers">
        {others !== undefined && (others === 0 ? 'this page alone' : `${others} + this page`)}
      </Fact>
      <Fact name="Size">{entry?.value && size(entry.value.length)}</Fact>
      <Fact name="Freshness">{freshWords(detail, now)}</Fact>
      <Fact name="Version" wide>
        {entry?.version?.toString()}
        {written !== undefined && (
          <span class="hint">
            {there ? 'written' : entry && goneWord(entry)} {dateAndTime(written)}
          </span>
        )}
      </Fact>
      <Fact name="Fencing token" wide>
        {there && facts && (facts.fencingToken ?? 'none: anybody may write')}
      </Fact>
    </dl>
  )
}

interface FactProps {
  readonly name: string
  readonly wide?: boolean
  readonly children?: ComponentChildren
}

const Fact = ({ name, wide = false, children }: FactProps): JSX.Element => (
  <div class={wide ? 'fact fact-wide' : 'fact'}>
    <dt>{name}</dt>
    <dd>{children || '–'}</dd>
  </div>
)

function freshWords({ freshness }: Detail, now: number): string {
  return freshness.state === 'stale' ? `stale for ${span(now - freshness.since)}` : freshness.state
}

function expiryWords(expiresAt: number | undefined, now: number): string {
  return expiresAt === undefined ? 'never' : `in ${left(expiresAt - now)}`
}
