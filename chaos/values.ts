/**
 * A value that only one writer writes. It says who wrote it and how long it is, so that a reader can check it byte by
 * byte.
 *
 * @param number - of the writer's values
 * @param padding - bytes to fill it up with
 */
export const uniqueValue = (writer: string, number: number, padding: number) =>
  `${writer}.${number}.${padding}:${'x'.repeat(padding)}`

/** The part of a value that tells it from others, without its padding. */
export function nameOf(value: string) {
  const [name = '', padding] = value.split(':')
  const intact = padding !== undefined && padding === 'x'.repeat(Number(name.split('.').at(-1)))
  return intact ? name : `damaged ${JSON.stringify(value.slice(0, 60))} (${value.length} long)`
}

/** Client, writer and number of a value; NaN for any other. */
export function partsOf(name: string) {
  const [client = '', life = '', number] = name.split('.')
  return { client, writer: `${client}.${life}`, number: Number(number) }
}
