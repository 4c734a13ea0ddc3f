import type { JSX } from 'preact'
import { Frame } from './frame.js'

const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'search'],
  ['↑ ↓', 'move in the list; so do Page up, Page down, Home and End'],
  ['t', 'group the keys by /, or list them'],
  ['← →', 'close and open a branch; * opens all beside it'],
  ['Enter', 'open the key'],
  ['e', 'edit the key'],
  ['Delete', 'delete the key'],
  ['n', 'set a key'],
  ['Esc', 'close what is open, or clear the search'],
  ['1 2 3', 'keys, clients, store'],
]

/** What the keyboard can do. */
export const KeyboardDialog = ({ onClose }: { onClose(): void }): JSX.Element => (
  <Frame title="Keyboard" onClose={onClose} onSubmit={onClose}>
    <dl class="shortcuts">
      {KEYS.map(([keys, deed]) => (
        <div key={deed}>
          <dt>
            {keys.split(' ').map(key => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{deed}</dd>
        </div>
      ))}
    </dl>
  </Frame>
)
