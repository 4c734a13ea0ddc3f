import { readdirSync } from 'node:fs'
import { some } from './effort.js'

const ROOT = new URL('../../', import.meta.url)

/** Files in folders, by how their names end. */
export const filesIn = (folders: readonly string[], ending: string): readonly string[] =>
  folders.flatMap(folder =>
    readdirSync(new URL(folder, ROOT))
      .filter(name => name.endsWith(ending))
      .map(name => `${folder}/${name}`),
  )

/**
 * Of files which a developer tries a few of, others each time, those that are left out, which a line says: none in the gate,
 * or where they are asked for by name.
 */
export function leftOut(what: string, files: readonly string[], tried: number): readonly string[] {
  if (process.argv.some(word => word.includes(what))) return []
  const tries = new Set(some(files, tried))
  const others = files.filter(file => !tries.has(file))
  if (others.length > 0)
    console.info(
      `left out: ${others.length} of ${files.length} files of ${what}, others each time (all: npm test ${what})`,
    )
  return others
}
