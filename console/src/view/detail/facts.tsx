import type { ComponentChildren, JSX } from 'preact'
import { formatBytes } from '../../model/amount.js'
import { missingReason } from '../../model/missing-reason.js'
import { dateAndTime, formatDuration, formatRemaining } from '../../model/time.js'
import { type Detail, shownFreshness } from '../../state/detail.js'
import type { Row } from '../../state/row-cache.js'
import { useConsole } from '../parts/context.js'
import { StateMark } from '../parts/state-mark.js'
import { useCell } from '../parts/use-cell.js'

export function Facts({ detail, row }: { readonly detail: Detail; readonly row: Row }): JSX.Element {
  const now = useCell(useConsole().now$)
  const { entry } = detail.history
  const { facts } = row
  const written = entry?.version?.wallClock
  const exists = entry?.value !== undefined
  const others = facts && exists ? Math.max(0, facts.watchers - 1) : undefined
  return (
    <dl class="facts">
      <Fact name="Age">{written !== undefined && formatDuration(now - written)}</Fact>
      <Fact name="Expires">{exists && facts && expiryText(facts.expiresAt, now)}</Fact>
      <Fact name="Watchers">{others !== undefined && (others === 0 ? 'only this page' : `${others} + this page`)}</Fact>
      <Fact name="Size">{entry?.value && formatBytes(entry.value.length)}</Fact>
      <Fact name="Freshness">
        <FreshnessMark freshness={detail.freshness} now={now} />
      </Fact>
      <Fact name="Version" wide>
        {entry?.version?.toString()}
        {written !== undefined && (
          <span class="hint">
            {exists ? 'written' : entry && missingReason(entry, row.expiresAt)} {dateAndTime(written)}
          </span>
        )}
      </Fact>
      <Fact name="Fencing token" wide>
        {exists && facts && (facts.fencingToken ?? 'none')}
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

interface FreshnessMarkProps {
  readonly freshness: Detail['freshness']
  readonly now: number
}

function FreshnessMark({ freshness, now }: FreshnessMarkProps): JSX.Element {
  const shown = shownFreshness(freshness, useCell(useConsole().health$))
  if (shown.state === 'stale') return <StateMark state="stale">for {formatDuration(now - shown.since)}</StateMark>
  if (shown.state === 'resyncing') return <StateMark state="stale">reading again</StateMark>
  return <StateMark state={shown.state} />
}

function expiryText(expiresAt: number | undefined, now: number): string {
  return expiresAt === undefined ? 'never' : `in ${formatRemaining(expiresAt - now)}`
}
