import type { JSX } from 'preact'
import type { Entry } from 'rx-statestore'
import { previewValue } from '../../model/value.js'
import { shortVersion } from '../../model/version.js'
import { ValueLine } from '../parts/value.js'

/** Warns that the key changed while the form was open. */
export function ConflictNotice({
  entry,
  onTake,
}: {
  readonly entry: Entry<Uint8Array> | undefined
  onTake(): void
}): JSX.Element {
  return (
    <div class="changed" role="alert">
      <p>
        <strong>{entry?.value ? 'The value has changed' : 'The key no longer exists'}</strong>
        {entry?.version && <span class="changed-version">{shortVersion(entry.version)}</span>}
      </p>
      {entry?.value && (
        <p class="changed-value">
          <ValueLine preview={previewValue(entry.value)} />
          <button type="button" class="button small" onClick={onTake}>
            Use this value
          </button>
        </p>
      )}
    </div>
  )
}
