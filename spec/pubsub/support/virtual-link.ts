import type { HubLink } from '../../../src/pubsub/hub/hub-link.js'
import type { FrameData } from '../../../src/pubsub/wire/frames.js'

/** A link without a network: keeps what the hub does with it. */
export class VirtualLink implements HubLink {
  /** Whether it takes messages. */
  writable = true
  pings = 0
  /** `close 1008 reason` or `terminate`. */
  end: string | undefined
  readonly frames: FrameData[] = []

  takes(): boolean {
    return this.writable
  }

  send(frame: FrameData): void {
    this.frames.push(frame)
  }

  ping(): void {
    this.pings++
  }

  close(code: number, reason: string): void {
    this.end = `close ${code} ${reason}`.trim()
  }

  terminate(): void {
    this.end = 'terminate'
  }

  /** JSON frames, parsed. */
  get parsed(): readonly Record<string, unknown>[] {
    return this.frames.map(frame => JSON.parse(String(frame)))
  }

  get sequenceIds(): readonly unknown[] {
    return this.parsed.filter(({ type }) => type === 'message').map(({ sequenceId }) => sequenceId)
  }
}
