import type { JSX } from 'preact'
import { Icon } from './parts/icon.js'

/** Shown instead of a view whose code cannot be loaded. */
interface UnreachableProps {
  /** Whether the store responds, so that the view's code is missing for another reason. */
  readonly isLive: boolean
  onRetry(): void
}

export const Unreachable = ({ isLive, onRetry }: UnreachableProps): JSX.Element => (
  <div class="unreachable" role="alert">
    <Icon name="stale" />
    <p>
      <strong>{isLive ? 'View not loaded' : 'Store unreachable'}</strong>
      <span>{isLive ? 'The page may be outdated: reload it.' : 'This view loads as soon as the store responds.'}</span>
    </p>
    <button type="button" class="button small" onClick={onRetry}>
      Retry
    </button>
  </div>
)
