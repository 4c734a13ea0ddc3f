/**
 * Creates a value that only one writer writes. It contains its writer and its length, so that a reader can verify every
 * byte.
 *
 * @param number - number of the value
 * @param padding - number of padding bytes
 */
export const uniqueValue = (writer: string, number: number, padding: number): string =>
  `${writer}.${number}.${padding}:${'x'.repeat(padding)}`

/** Returns the unique part of a value, without its padding. */
export function nameOf(value: string): string {
  const [name = '', padding] = value.split(':')
  const intact = padding !== undefined && padding === 'x'.repeat(Number(name.split('.').at(-1)))
  return intact ? name : `damaged ${JSON.stringify(value.slice(0, 60))} (${value.length} long)`
}

/** Returns the client, writer and number of a value. The number is NaN for other values. */
export function partsOf(name: string): { client: string; writer: string; number: number } {
  const [client = '', incarnation = '', number] = name.split('.')
  return { client, writer: `${client}.${incarnation}`, number: Number(number) }
}
