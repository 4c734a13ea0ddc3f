import type { ListedKey } from '../model/listed-key.js'

export type Dialog =
  | { readonly type: 'set'; readonly key?: ListedKey }
  | { readonly type: 'delete'; readonly key: ListedKey; readonly value: Uint8Array }
  | { readonly type: 'lose' }
  | { readonly type: 'reset' }
  | { readonly type: 'load'; readonly file: File }
  | { readonly type: 'keyboard' }
