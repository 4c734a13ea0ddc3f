/** The part of the Node-RED runtime that these nodes use. */

import type { StateStore } from 'rx-statestore' with { 'resolution-mode': 'import' }

export interface Message {
  topic?: unknown
  payload?: unknown
  version?: unknown
  fencingToken?: unknown
  expiresIn?: unknown
  action?: unknown
  [name: string]: unknown
}

type Outgoing = Message | null
type Send = (messages: Message | readonly Outgoing[]) => void
type Done = (error?: unknown) => void

export interface RedNode {
  credentials?: { username?: string; password?: string }
  on(event: 'input', listener: (msg: Message, send: Send, done: Done) => void): void
  on(event: 'close', listener: (removed: boolean, done: Done) => void): void
  send: Send
  error(message: unknown, msg?: Message): void
  warn(message: unknown): void
  status(status: { fill?: 'green' | 'yellow' | 'red' | 'grey'; shape?: 'dot' | 'ring'; text?: string }): void
}

/** The config node. */
export interface StoreNode extends RedNode {
  open?: () => StateStore
}

/** The settings that the editor has stored, as texts even for numbers. */
export interface Settings {
  readonly [name: string]: string | boolean | undefined
}

export interface Red {
  readonly nodes: {
    createNode(node: RedNode, settings: Settings): void
    getNode(id: unknown): StoreNode | null | undefined
    registerType(type: string, start: (this: StoreNode, settings: Settings) => void, options?: object): void
  }
}
