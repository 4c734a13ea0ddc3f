import type { JSX } from 'preact'
import type { Entry } from 'rx-statestore'
import { show } from '../../model/value.js'
import { shortVersion } from '../../model/version.js'
import { ValueLine } from '../value.js'

/** Says that somebody else wrote while the form was open. */
export function Changed({
  entry,
  onTake,
}: {
  readonly entry: Entry<Uint8Array> | undefined
  onTake(): void
}): JSX.Element {
  return (
    <div class="changed" role="alert">
      <p>
        <strong>{entry?.value ? 'It was changed meanwhile' : 'It was deleted meanwhile'}</strong>
        {entry?.version && <span class="changed-version">{shortVersion(entry.version)}</span>}
      </p>
      {entry?.value && (
        <p class="changed-value">
          <ValueLine shown={show(entry.value)} />
          <button type="button" class="button small" onClick={onTake}>
            Take that value
          </button>
        </p>
      )}
    </div>
  )
}
