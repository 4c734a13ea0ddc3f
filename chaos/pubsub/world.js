/**
 * What everybody has in common.
 *
 * @typedef {object} World
 * @property {import('./options.js').Options} options
 * @property {import('./ledger.js').Ledger} ledger
 * @property {import('./counts.js').Counts} counts
 * @property {import('../complaints.js').Complaints} complaints
 * @property {Map<string, import('./member.js').Member>} members - by user id, which is another one in every life
 */

export {}
