import { compileGlob } from '../../core/protocol/parse-command.js'
import { utf8 } from '../../core/util/bytes.js'
import { asksToPersist, type VolatileRule } from '../service/service.js'
import type { StorageOptions } from './storage-options.js'

/** Which keys are not to outlive the store. */
export function volatileRule({
  persist,
  persistKeys,
}: Pick<Required<StorageOptions>, 'persist' | 'persistKeys'>): VolatileRule {
  if (persist === 'all') return () => false
  if (persist === 'none') return () => true
  const patterns = persistKeys.map(pattern => compileGlob(utf8(pattern)))
  return (key, userProperties) => !asksToPersist(userProperties) && !patterns.some(({ matches }) => matches(key))
}
