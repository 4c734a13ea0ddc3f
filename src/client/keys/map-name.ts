import type { KeyName } from '../../core/protocol/commands.js'

/** Follows a key's name in a map if its bytes are not UTF-8. No text key can end with it, because it is malformed. */
const NOT_TEXT = '\udc00'

/**
 * Returns a name that no other key has, for use in a map: the display name of bytes that are not UTF-8 may be the name
 * of a text key.
 */
export const uniqueName = ({ id, text }: KeyName): string => (text === `0x${id}` ? text + NOT_TEXT : text)

/** Returns the time until the next copy of a map, because copying a large map every turn would take most of the CPU. */
export const copyDelayMs = ({ size }: ReadonlyMap<string, unknown>): number => size >> 10
