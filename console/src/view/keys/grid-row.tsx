// biome-ignore-all lint/a11y/useSemanticElements: a table cannot position its rows
// biome-ignore-all lint/a11y/useFocusableInteractive: rows have the focus, not cells
import type { ComponentChildren, JSX } from 'preact'
import { hasChanged } from '../../model/change-times.js'
import { keyParts } from '../../model/key-parts.js'
import { visibleKey } from '../../model/key-pieces.js'
import type { KeyRow } from '../../model/key-tree.js'
import { missingReason } from '../../model/missing-reason.js'
import { formatDuration, formatRemaining } from '../../model/time.js'
import type { Row } from '../../state/row-cache.js'
import { Icon } from '../parts/icon.js'
import { KeyText } from '../parts/key-text.js'
import { Marbles } from '../parts/marbles.js'
import { ValueLine } from '../parts/value.js'

export interface RowPosition {
  readonly index: number
  /** Distance from the top of the body, CSS pixels. */
  readonly top: number
  /** Whether this row is the one in the tab order. */
  readonly active: boolean
  onFocus(): void
}

export interface GridRowProps extends RowPosition {
  readonly listing: KeyRow
  readonly inTree: boolean
  readonly row: Row
  /** The current time, ms on the store's clock. */
  readonly now: number
  readonly open: boolean
  onOpen(): void
}

/** Remaining time below which an expiry is highlighted, ms. */
const EXPIRING_SOON_MS = 10_000
const MARBLES_WIDTH = 116

export function GridRow(props: GridRowProps): JSX.Element {
  const { listing, inTree, index, top, row, now, active, open, onFocus, onOpen } = props
  const { entry, facts } = row
  const isMissing = entry?.op === 'delete' || entry?.op === 'absent'
  const expires = facts?.expiresAt === undefined || isMissing ? undefined : facts.expiresAt - now
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid handles the keys
    <div
      class={`grid-row ${open ? 'grid-row-open' : ''} ${isMissing ? 'grid-row-gone' : ''}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={open}
      tabIndex={active ? 0 : -1}
      {...(inTree && treeAttributes(listing))}
      style={{ transform: `translateY(${top}px)`, '--level': listing.level - 1 }}
      onFocus={onFocus}
      onClick={onOpen}
    >
      <Cell name="key" title={visibleKey(listing.listed.name)}>
        <KeyName listing={listing} inTree={inTree} token={facts?.fencingToken} />
      </Cell>
      <Cell name="value">
        <RowValue row={row} />
      </Cell>
      <Cell name="activity">
        {hasChanged(row.changeTimes, now) && <Marbles changeTimes={row.changeTimes} now={now} width={MARBLES_WIDTH} />}
      </Cell>
      <Cell name="age">{entry?.version && formatDuration(now - entry.version.wallClock)}</Cell>
      <Cell name="ttl">
        {expires !== undefined && (
          <span class={expires < EXPIRING_SOON_MS ? 'soon' : ''}>{formatRemaining(expires)}</span>
        )}
      </Cell>
      <Cell name="watchers">{facts && (otherWatchers(row, facts.watchers) || <span class="nobody">0</span>)}</Cell>
    </div>
  )
}

/** Returns the number of watchers without this page, which watches the key once there is an entry. */
const otherWatchers = ({ entry }: Row, watchers: number): number => Math.max(0, watchers - (entry ? 1 : 0))

interface CellProps {
  readonly name: string
  readonly title?: string | undefined
  readonly children?: ComponentChildren
}

const Cell = ({ name, title, children }: CellProps): JSX.Element => (
  <div class={`cell cell-${name}`} role="gridcell" title={title}>
    {children}
  </div>
)

export const treeAttributes = ({ level, position, setSize }: Pick<KeyRow, 'level' | 'position' | 'setSize'>) => ({
  'aria-level': level,
  'aria-posinset': position,
  'aria-setsize': setSize,
})

interface KeyNameProps extends Pick<GridRowProps, 'listing' | 'inTree'> {
  /** The fencing token that protects the key. */
  readonly token: string | undefined
}

const KeyName = ({ listing, inTree, token }: KeyNameProps): JSX.Element => {
  // In a tree, only the rest of a very deep key has a prefix.
  const hasPrefix = !inTree || listing.label.includes('/')
  const [prefix, name] = hasPrefix ? keyParts(listing.label) : ['', listing.label]
  return (
    <span class={`key-name ${listing.listed.binary ? 'key-binary' : ''}`}>
      <span class="key-place">
        <KeyText name={prefix} />
      </span>
      <span class="key-own">
        <KeyText name={name} />
      </span>
      {token !== undefined && (
        <span class="key-lock" title={`Fencing token ${token}`}>
          <Icon name="lock" />
          <span class="unseen">protected by a fencing token</span>
        </span>
      )}
    </span>
  )
}

function RowValue({ row: { entry, preview, changes, expiresAt } }: { readonly row: Row }): JSX.Element {
  if (entry === undefined) return <span class="value-blank" />
  if (preview === undefined) return <span class="value-gone">{missingReason(entry, expiresAt)}</span>
  return (
    <span key={changes} class={changes > 0 ? 'flash' : ''}>
      <ValueLine preview={preview} />
    </span>
  )
}
