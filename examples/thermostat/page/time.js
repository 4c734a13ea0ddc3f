/** Formats a time as a clock shows it. @param {number} at - ms since the Unix epoch */
export const timeOf = at => new Date(at).toLocaleTimeString('en-GB')

/** @param {number} at - ms since the Unix epoch */
export const minuteOf = at => new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
