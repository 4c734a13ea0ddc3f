// The arc of the dial: three quarters of a circle, open at the bottom. Angles are in degrees, clockwise from three
// o'clock.

const FROM = 135
/** The centre of the drawing, in units of the drawing, which is twice as wide. */
const CENTRE = 160

/** The part of the circle that the arc covers, degrees. */
export const SWEEP = 270
/** Radius of the arc's middle line, in units of the drawing. */
export const RADIUS = 124

/** Returns the angle at a share of the arc, 0 to 1. @param {number} share */
export const angleOf = share => FROM + share * SWEEP

/** @param {number} angle @param {number} radius @returns {readonly [x: number, y: number]} */
export function pointAt(angle, radius) {
  const radians = (angle * Math.PI) / 180
  return [CENTRE + radius * Math.cos(radians), CENTRE + radius * Math.sin(radians)]
}

/** Path data of the whole arc. */
export const ARC = `M${pointAt(angleOf(0), RADIUS)} A${RADIUS} ${RADIUS} 0 1 1 ${pointAt(angleOf(1), RADIUS)}`

/** Returns path data of a line across the arc. @param {number} share @param {number} inner @param {number} outer */
export const across = (share, inner, outer) => `M${pointAt(angleOf(share), inner)} L${pointAt(angleOf(share), outer)}`

/** Returns the angle of a pointer around the centre. @param {MouseEvent} pointer @param {Element} drawing */
export function angleAt({ clientX, clientY }, drawing) {
  const { left, top, width } = drawing.getBoundingClientRect()
  return (Math.atan2(clientY - top - width / 2, clientX - left - width / 2) * 180) / Math.PI
}

/** Returns the shorter turn from one angle to another. @param {number} from @param {number} to */
export const turnBetween = (from, to) => ((((to - from) % 360) + 540) % 360) - 180
