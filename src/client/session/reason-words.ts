// By its default alone: the build for browsers exports nothing else.
import mqtt from 'mqtt'

/** What a reason code of MQTT 5.0 (section 2.4) is called; `reason 7` for one that nobody knows. */
export const reasonWords = (code: number): string =>
  Object.entries(mqtt.ReasonCodes).find(([known]) => Number(known) === code)?.[1] ?? `reason ${code}`

/** Why a broker ended a connection, and what to do where that alone does not tell. */
export function farewellWords(code: number, clientId: string): string {
  if (code === TAKEN_OVER) {
    return `another client took the id ${JSON.stringify(clientId)}: every client needs an id of its own`
  }
  return `it said ${code}, ${reasonWords(code)}`
}

/** Session taken over: by another client with our id, or by an attempt of ours that was given up and arrived late. */
export const TAKEN_OVER = 142
