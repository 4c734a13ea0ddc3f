import type { Attacker } from './attacker.js'

/** What a row needs: connections to the measured server as the one principal that also owns the state. */
export interface Scene {
  /** Opens a connection without sending anything. */
  open(): Promise<Attacker>
  /** Opens a connection, sends a CONNECT, and waits for the response. */
  connect(packet: Uint8Array): Promise<Attacker>
  /** Returns a number that no other call returns, for names. */
  unique(): number
}
