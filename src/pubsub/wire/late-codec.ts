import { ClosedError } from '../../core/util/errors.js'
import type { ClientCodec, DownFrame, FrameData, JsonWriter, UnknownFrame, UpFrame } from './frames.js'

/**
 * A codec that is loaded on demand, so that clients that speak another subprotocol need not download it.
 *
 * @example
 * ```ts
 * const codec = new LateCodec('protobuf.reliable.webpubsub.azure.v1', () => import('./codec.js').then(({ codec }) => codec))
 * await codec.load()
 * ```
 */
export class LateCodec implements ClientCodec {
  readonly subprotocol: string
  readonly #fetch: () => Promise<ClientCodec>
  #codec: ClientCodec | undefined

  constructor(subprotocol: string, fetch: () => Promise<ClientCodec>) {
    this.subprotocol = subprotocol
    this.#fetch = fetch
  }

  /** Resolves when frames can be encoded and decoded; one that fails may be tried again. */
  async load(): Promise<void> {
    this.#codec ??= await this.#fetch()
  }

  encode(frame: UpFrame, jsonOf?: JsonWriter): FrameData {
    return this.#loaded.encode(frame, jsonOf)
  }

  decode(data: FrameData): DownFrame | UnknownFrame {
    return this.#loaded.decode(data)
  }

  get #loaded(): ClientCodec {
    if (this.#codec === undefined) throw new ClosedError(`The codec of ${this.subprotocol} is not loaded`)
    return this.#codec
  }
}
