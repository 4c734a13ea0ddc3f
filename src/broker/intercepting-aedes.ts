import { Aedes, type AedesOptions, type Client, type PublishPacket } from 'aedes'

type Done = (error?: Error) => void

/** aedes that shows every PUBLISH of a client before it forwards it. */
export class InterceptingAedes extends Aedes {
  readonly #intercept: (packet: PublishPacket, client: Client) => boolean

  /** @param intercept - takes a PUBLISH, or leaves it to be forwarded */
  constructor(options: AedesOptions, intercept: (packet: PublishPacket, client: Client) => boolean) {
    super(options)
    this.#intercept = intercept
  }

  // aedes calls this method for what clients publish; its declared type leaves the client out.
  override publish(packet: PublishPacket, client: Client | Done | null, done?: Done): void {
    if (client !== null && typeof client === 'object' && this.#intercept(packet, client)) {
      done?.()
      return
    }
    Reflect.apply(super.publish, this, [packet, client, done])
  }
}
