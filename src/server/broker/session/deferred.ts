import { keepable } from '../../../core/util/bytes.js'
import { CountedFifo } from '../../../core/util/fifo.js'
import type { Budget } from '../limits/budget.js'
import { OVERHEAD } from '../limits/limits.js'

/** Packets of a connection that wait for their turn, in order. */
export class Deferred extends CountedFifo<Uint8Array> {
  constructor(budget: Budget) {
    super(
      packet => packet.length + OVERHEAD,
      bytes => budget.count(bytes),
    )
  }

  override push(packet: Uint8Array): void {
    super.push(keepable(packet))
  }
}
