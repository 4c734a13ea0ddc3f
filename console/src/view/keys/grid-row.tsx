// biome-ignore-all lint/a11y/useSemanticElements: a table cannot place its rows by itself
// biome-ignore-all lint/a11y/useFocusableInteractive: the rows have the focus, and no cell needs it
import type { ComponentChildren, JSX } from 'preact'
import { goneWord } from '../../model/gone.js'
import { keyParts } from '../../model/key-parts.js'
import { keyLine } from '../../model/key-signs.js'
import type { KeyRow } from '../../model/key-tree.js'
import { left, span } from '../../model/time.js'
import { shortVersion, shortVersionOf } from '../../model/version.js'
import type { Row } from '../../state/row-book.js'
import { Icon } from '../icon.js'
import { KeyText } from '../key-text.js'
import { Marbles } from '../marbles.js'
import { ValueLine } from '../value.js'

/** Where a row of the grid stands. */
export interface RowPlace {
  /** Its place among all. */
  readonly index: number
  /** CSS pixels from the top of the body. */
  readonly top: number
  /** Whether the Tab key leads to it. */
  readonly active: boolean
  onFocus(): void
}

/** A row with a key. */
export interface GridRowProps extends RowPlace {
  readonly listing: KeyRow
  readonly inTree: boolean
  readonly row: Row
  /** ms on the store's clock. */
  readonly now: number
  readonly open: boolean
  onOpen(): void
}

/** So close to its end an expiry is coloured, ms. */
const SOON = 10_000
const MARBLES = 116

/** A key and what is known of it. */
export function GridRow(props: GridRowProps): JSX.Element {
  const { listing, inTree, index, top, row, now, active, open, onFocus, onOpen } = props
  const { entry, facts } = row
  const gone = entry?.op === 'delete' || entry?.op === 'absent'
  const expires = facts?.expiresAt === undefined || gone ? undefined : facts.expiresAt - now
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid hears the keys
    <div
      class={`grid-row ${open ? 'grid-row-open' : ''} ${gone ? 'grid-row-gone' : ''}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={open}
      tabIndex={active ? 0 : -1}
      {...(inTree && standing(listing))}
      style={{ transform: `translateY(${top}px)`, '--level': listing.level - 1 }}
      onFocus={onFocus}
      onClick={onOpen}
    >
      <Cell name="key" title={keyLine(listing.listed.name)}>
        <KeyName listing={listing} inTree={inTree} />
      </Cell>
      <Cell name="value">
        <RowValue row={row} />
      </Cell>
      <Cell name="beats">
        <Marbles beats={row.beats} now={now} width={MARBLES} />
      </Cell>
      <Cell name="age">{entry?.version && span(now - entry.version.wallClock)}</Cell>
      <Cell name="ttl">
        {expires !== undefined && <span class={expires < SOON ? 'soon' : ''}>{left(expires)}</span>}
      </Cell>
      <Cell name="version" title={entry?.version?.toString()}>
        {entry?.version && shortVersion(entry.version)}
      </Cell>
      <Cell name="token" title={facts?.fencingToken}>
        {facts?.fencingToken !== undefined && (
          <>
            <Icon name="lock" />
            <span>{shortVersionOf(facts.fencingToken)}</span>
          </>
        )}
      </Cell>
      <Cell name="watchers">{facts && (othersThan(row, facts.watchers) || <span class="nobody">0</span>)}</Cell>
    </div>
  )
}

/** Once there is an entry, this page is registered for the key as well. */
const othersThan = ({ entry }: Row, watchers: number): number => Math.max(0, watchers - (entry ? 1 : 0))

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

/** What a tree says of a row. */
export const standing = ({ level, place, of }: Pick<KeyRow, 'level' | 'place' | 'of'>) => ({
  'aria-level': level,
  'aria-posinset': place,
  'aria-setsize': of,
})

const KeyName = ({ listing, inTree }: Pick<GridRowProps, 'listing' | 'inTree'>): JSX.Element => {
  const [place, own] = inTree ? ['', listing.own] : keyParts(listing.own)
  return (
    <span class={`key-name ${listing.listed.binary ? 'key-binary' : ''}`}>
      <span class="key-place">
        <KeyText name={place} />
      </span>
      <span class="key-own">
        <KeyText name={own} />
      </span>
    </span>
  )
}

function RowValue({ row: { entry, shown, changes } }: { readonly row: Row }): JSX.Element {
  if (entry === undefined) return <span class="value-blank" />
  if (shown === undefined) return <span class="value-gone">{goneWord(entry)}</span>
  return (
    <span key={changes} class={changes > 0 ? 'flash' : ''}>
      <ValueLine shown={shown} />
    </span>
  )
}
