import fc from 'fast-check'

const name = fc.constantFrom('', 'a', 'b', 'ab', '$SYS', 'ä', 'toString', '__proto__')

/** Topics with few level names, so that filters often match them. */
export const fewTopics = fc
  .array(name, { minLength: 1, maxLength: 4 })
  .map(levels => levels.join('/'))
  .filter(topic => topic !== '')

/** Valid filters for {@link fewTopics}. */
export const fewFilters = fc
  .tuple(fc.array(fc.oneof(name, fc.constant('+')), { minLength: 0, maxLength: 4 }), fc.boolean())
  .map(([levels, all]) => [...levels, ...(all ? ['#'] : [])].join('/'))
  .filter(filter => filter !== '')
