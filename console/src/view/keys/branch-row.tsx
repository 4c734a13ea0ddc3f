// biome-ignore-all lint/a11y/useSemanticElements: a table cannot place its rows by itself
// biome-ignore-all lint/a11y/useFocusableInteractive: the rows have the focus, and no cell needs it
import type { JSX } from 'preact'
import { count, counted } from '../../model/amount.js'
import type { BranchRow as Branch } from '../../model/key-tree.js'
import { Icon } from '../icon.js'
import { KeyText } from '../key-text.js'
import { COLUMNS } from './columns.js'
import { type RowPlace, standing } from './grid-row.js'

/** A row for what keys have in common. */
export interface BranchRowProps extends RowPlace {
  readonly branch: Branch
  /** Whether there may be more keys in it than are loaded. */
  readonly more: boolean
  onTurn(): void
}

/** A branch of the tree: what its keys begin with, and how many there are. */
export function BranchRow({ branch, more, index, top, active, onFocus, onTurn }: BranchRowProps): JSX.Element {
  const words = counted(branch.keys, 'key')
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid hears the keys
    <div
      class="grid-row grid-branch"
      role="row"
      aria-rowindex={index + 2}
      aria-expanded={branch.isOpen}
      {...standing(branch)}
      tabIndex={active ? 0 : -1}
      style={{ transform: `translateY(${top}px)`, '--level': branch.level - 1 }}
      onFocus={onFocus}
      onClick={onTurn}
    >
      <div class="cell cell-branch" role="gridcell" aria-colspan={COLUMNS.length} title={branch.id}>
        <Icon name="next" />
        <span class="branch-name">
          <KeyText name={branch.own} />
        </span>
        <span class="branch-keys" title={more ? `${words} of those that are loaded` : words}>
          {count(branch.keys)}
          {more && '+'}
          <span class="unseen">{branch.keys === 1 ? ' key' : ' keys'}</span>
        </span>
      </div>
    </div>
  )
}
