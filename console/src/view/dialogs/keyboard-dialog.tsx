import type { JSX } from 'preact'
import { Frame } from './frame.js'

const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'search'],
  ['↑ ↓', 'move; also Page up, Page down, Home, End'],
  ['t', 'tree or list'],
  ['← →', 'collapse or expand a branch; * expands all at its level'],
  ['Enter', 'open key'],
  ['e', 'edit key'],
  ['Delete', 'delete key'],
  ['n', 'set a key'],
  ['Esc', 'close, or clear the search'],
  ['1 2 3 4', 'keys, clients, store, metrics'],
]

export const KeyboardDialog = ({ onClose }: { onClose(): void }): JSX.Element => (
  <Frame title="Keyboard" onClose={onClose} onSubmit={onClose}>
    <dl class="shortcuts">
      {KEYS.map(([keys, action]) => (
        <div key={action}>
          <dt>
            {keys.split(' ').map(key => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{action}</dd>
        </div>
      ))}
    </dl>
  </Frame>
)
