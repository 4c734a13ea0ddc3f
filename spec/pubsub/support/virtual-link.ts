import type { HubLink } from '../../../src/pubsub/hub/hub-link.js'
import type { FrameData } from '../../../src/pubsub/wire/frames.js'

/** A link without a network, which records the hub's calls. */
export class VirtualLink implements HubLink {
  isWritable = true
  isReadPaused = false
  pings = 0
  /** The end of the link: `close 1008 reason` or `terminate`. */
  end: string | undefined
  readonly frames: FrameData[] = []
  readonly #parsed: Record<string, unknown>[] = []

  canSend(): boolean {
    return this.isWritable
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

  /** Returns false, as this link cannot be held. */
  hold(): boolean {
    return false
  }

  release(): void {}

  /** The JSON frames. Each is parsed only once, because some tests read thousands repeatedly. */
  get parsed(): readonly Record<string, unknown>[] {
    for (const frame of this.frames.slice(this.#parsed.length)) this.#parsed.push(JSON.parse(String(frame)))
    return this.#parsed
  }

  get sequenceIds(): readonly unknown[] {
    return this.parsed.filter(({ type }) => type === 'message').map(({ sequenceId }) => sequenceId)
  }
}
