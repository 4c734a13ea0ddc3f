/** A key as the store sees it, and as people do. */
export interface KeyName {
  readonly bytes: Uint8Array
  /** Base16 of the bytes: what tells keys apart. */
  readonly id: string
  readonly text: string
}
