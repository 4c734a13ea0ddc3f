// biome-ignore-all lint/a11y/useSemanticElements: a table cannot position its rows
// biome-ignore-all lint/a11y/useFocusableInteractive: rows have the focus, not cells
import type { JSX } from 'preact'
import { formatCount, pluralize } from '../../model/amount.js'
import type { BranchRow as Branch } from '../../model/key-tree.js'
import { Icon } from '../parts/icon.js'
import { KeyText } from '../parts/key-text.js'
import { COLUMNS } from './columns.js'
import { type RowPosition, treeAttributes } from './grid-row.js'

export interface BranchRowProps extends RowPosition {
  readonly branch: Branch
  /** Whether some keys of the branch may not be loaded. */
  readonly more: boolean
  onToggle(): void
}

export function BranchRow({ branch, more, index, top, active, onFocus, onToggle }: BranchRowProps): JSX.Element {
  const keyCount = pluralize(branch.keys, 'key')
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid handles the keys
    <div
      class="grid-row grid-branch"
      role="row"
      aria-rowindex={index + 2}
      aria-expanded={branch.isOpen}
      {...treeAttributes(branch)}
      tabIndex={active ? 0 : -1}
      style={{ transform: `translateY(${top}px)`, '--level': branch.level - 1 }}
      onFocus={onFocus}
      onClick={onToggle}
    >
      <div class="cell cell-branch" role="gridcell" aria-colspan={COLUMNS.length} title={branch.id}>
        <Icon name="next" />
        <span class="branch-name">
          <KeyText name={branch.label} />
        </span>
        <span class="branch-keys" title={more ? `${keyCount} loaded` : keyCount}>
          {formatCount(branch.keys)}
          {more && '+'}
          <span class="unseen">{branch.keys === 1 ? ' key' : ' keys'}</span>
        </span>
      </div>
    </div>
  )
}
