import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Console } from '../state/console.js'

/** Gives the console to all views below. */
export const ConsoleContext = createContext<Console | undefined>(undefined)

/** The console of the page. */
export function useConsole(): Console {
  const found = useContext(ConsoleContext)
  if (found === undefined) throw new Error('This view needs a console around it')
  return found
}
