/**
 * The bounds of every attack, with their reasons. Times are those of the machine on which they were set, and are scaled
 * by the reference workload of the run.
 */
export const BOUNDS = {
  /** The longest step in ms. A step of 10 ms delays every other client as much as a distant network does. */
  stepMs: 10,
  /** The CPU time in ms for each byte that was sent: a client at 128 MiB/s is then paused by its rate, not by luck. */
  cpuMsPerByte: 0.001,
  /** The CPU time in ms for each frame that arrives alone: a login, or reading, answering and writing, of any size. */
  cpuMsPerFrame: 1,
  /** The held bytes for each byte that was sent: decoded strings take two, and copies while buffers grow two more. */
  heldPerByte: 4,
  /** The held bytes for each frame: one entry in each table of the server, with its objects. */
  heldPerFrame: 4_096,
  /** The held bytes that caches and compiled code gain during a measurement. */
  heldNoise: 1_048_576,
} as const

/** The CPU time of the reference workload in ms on the machine on which {@link BOUNDS} were set. */
export const REFERENCE_MS = 30

/** What was measured, as shares of the bounds. A share above 1 exceeds its bound. */
export interface Shares {
  readonly step: number
  readonly cpu: number
  readonly held: number
}

export interface Measured {
  readonly sentBytes: number
  readonly frames: number
  readonly cpuMs: number
  readonly longestStepMs: number
  readonly heldBytes: number
}

/** @param scale - how much slower than the machine of the bounds this one is, at least 1 */
export function sharesOf({ sentBytes, frames, cpuMs, longestStepMs, heldBytes }: Measured, scale: number): Shares {
  return {
    step: longestStepMs / (BOUNDS.stepMs * scale),
    cpu: cpuMs / (scale * (BOUNDS.cpuMsPerFrame * frames + BOUNDS.cpuMsPerByte * sentBytes)),
    held: heldBytes / (BOUNDS.heldNoise + BOUNDS.heldPerFrame * frames + BOUNDS.heldPerByte * sentBytes),
  }
}

/** Returns the lesser of two measurements in each respect, because other programs only add. */
export const lesser = (one: Shares, other: Shares): Shares => ({
  step: Math.min(one.step, other.step),
  cpu: Math.min(one.cpu, other.cpu),
  held: Math.min(one.held, other.held),
})
