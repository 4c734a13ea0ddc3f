import { boolean, json, number, text } from 'rx-statestore'

/** Modes of the heater: off, gentle, or full power. */
export const MODES = /** @type {const} */ (['off', 'eco', 'boost'])

/** @typedef {(typeof MODES)[number]} Mode */

/** A point of the chart: ms since the Unix epoch, °C in the room, set point in °C, heating (0 or 1). */
/** @typedef {readonly [at: number, temperature: number, setPoint: number, heating: number]} Point */

/** A custom codec consists of two functions. @type {import('rx-statestore').Codec<Mode>} */
const mode = {
  encode: text.encode,
  decode(bytes) {
    const word = text.decode(bytes)
    const mode = MODES.find(candidate => candidate === word)
    if (mode === undefined) throw new Error(`Expected a heater mode, got ${word}`)
    return mode
  },
}

/**
 * Returns the keys that the room and the pages share, which are their only means of communication.
 *
 * @param {import('rx-statestore').StateStore} store
 */
export const keysOf = store => ({
  setPoint: store.key('thermostat1/setPoint', number),
  mode: store.key('thermostat1/mode', mode),
  temperature: store.key('thermostat1/temperature', number),
  humidity: store.key('thermostat1/humidity', number),
  heating: store.key('thermostat1/heating', boolean),
})

/** @typedef {ReturnType<typeof keysOf>} Keys */

/**
 * Returns the key with the points of the last minutes, for a chart that was opened or reconnected later. The key is
 * read once and never watched.
 *
 * @param {import('rx-statestore').StateStore} store
 * @returns {import('rx-statestore').Key<readonly Point[]>}
 */
export const historyOf = store => store.key('thermostat1/history', json())
