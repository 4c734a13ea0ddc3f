// The physics of a small room: one zone that stores heat, loses it through its walls, and has a heater.

/** Speed of time in the room: a second of real time is a minute, so that changes are visible. */
const PACE = 60
/** Temperature outside, °C. */
const OUTSIDE = 7
/** Heat loss per degree of difference to the outside, W/K. */
const LOSS = 60
/** Heat capacity of air, furniture and the inner side of the walls, J/K. */
const CAPACITY = 1e6
/** Power of the heater by mode, W. */
const POWER = { off: 0, eco: 1_300, boost: 2_000 }
/** Hysteresis of the heater around the set point, K. */
const HYSTERESIS = 0.25
/** Water in the air, as vapour pressure, hPa. It is constant because the windows stay closed. */
const VAPOUR = 11.2

/** @typedef {{ readonly temperature: number, readonly heating: boolean }} Climate */
/** @typedef {{ readonly setPoint: number, readonly mode: import('./keys.js').Mode }} Wanted */

/**
 * Returns the climate after some time.
 *
 * @param {Climate} climate
 * @param {Wanted} wanted
 * @param {number} elapsed - ms of real time
 * @returns {Climate}
 */
export function later({ temperature, heating }, { setPoint, mode }, elapsed) {
  const limit = setPoint + (heating ? HYSTERESIS : -HYSTERESIS)
  const on = mode !== 'off' && temperature < limit
  const flow = (on ? POWER[mode] : 0) - LOSS * (temperature - OUTSIDE)
  return { temperature: temperature + (flow * PACE * elapsed) / 1000 / CAPACITY, heating: on }
}

/**
 * Returns the relative humidity, %, which falls when the temperature rises. Saturation by the Magnus formula.
 *
 * @param {number} temperature
 */
export function humidityAt(temperature) {
  const saturation = 6.112 * Math.exp((17.62 * temperature) / (243.12 + temperature))
  return Math.min(100, (100 * VAPOUR) / saturation)
}
