import type { Room } from '../../src/packet/publish-encoder.js'

/** What is written to a room that is as large as it has to be. */
export function written(write: (room: Room) => void): Uint8Array {
  const room = new OwnRoom()
  write(room)
  return room.block
}

/** Memory for one packet. */
class OwnRoom implements Room {
  block = new Uint8Array(0)

  take(bytes: number): number {
    this.block = new Uint8Array(bytes)
    return 0
  }
}
