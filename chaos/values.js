/**
 * A value that only one writer writes. It says who wrote it and how long it is, so that a reader can check it byte by
 * byte.
 *
 * @param {string} writer
 * @param {number} number - of the writer's values
 * @param {number} padding - bytes to fill it up with
 */
export const uniqueValue = (writer, number, padding) => `${writer}.${number}.${padding}:${'x'.repeat(padding)}`

/**
 * The part of a value that tells it from others, without its padding.
 *
 * @param {string} value
 */
export function nameOf(value) {
  const [name = '', padding] = value.split(':')
  const intact = padding !== undefined && padding === 'x'.repeat(Number(name.split('.').at(-1)))
  return intact ? name : `damaged ${JSON.stringify(value.slice(0, 60))} (${value.length} long)`
}

/**
 * Client, writer and number of a value; NaN for any other.
 *
 * @param {string} name
 */
export function partsOf(name) {
  const [client = '', life = '', number] = name.split('.')
  return { client, writer: `${client}.${life}`, number: Number(number) }
}
