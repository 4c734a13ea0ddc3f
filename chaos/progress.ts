const OFTEN = 500
const SELDOM = 10_000

/**
 * Says how far it is: in one line that changes on a terminal, otherwise now and then in a line of its own.
 *
 * @returns ends it
 */
export function showProgress(describe: () => string): () => void {
  const { isTTY } = process.stderr
  const started = performance.now()
  const show = () => {
    const line = `${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s  ${describe()}`
    process.stderr.write(isTTY ? `\r${line.padEnd(100)}` : `${line}\n`)
  }
  const timer = setInterval(show, isTTY ? OFTEN : SELDOM)
  return () => {
    clearInterval(timer)
    if (isTTY) process.stderr.write(`\r${' '.repeat(110)}\r`)
  }
}
