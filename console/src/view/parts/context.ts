import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Console } from '../../state/console.js'

export const ConsoleContext = createContext<Console | undefined>(undefined)

export function useConsole(): Console {
  const console = useContext(ConsoleContext)
  if (console === undefined) throw new Error('useConsole requires a ConsoleContext.Provider')
  return console
}
