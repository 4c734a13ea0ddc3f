import type { JSX } from 'preact'
import { Icon } from './icon.js'

/** Shown in place of a view whose code cannot be loaded. */
export const Unreachable = ({ onRetry }: { onRetry(): void }): JSX.Element => (
  <div class="unreachable" role="alert">
    <Icon name="stale" />
    <p>
      <strong>Store unreachable</strong>
      <span>This view loads as soon as the store responds.</span>
    </p>
    <button type="button" class="button small" onClick={onRetry}>
      Retry
    </button>
  </div>
)
