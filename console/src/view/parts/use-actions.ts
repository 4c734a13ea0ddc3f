import { useMemo } from 'preact/hooks'
import { Actions } from '../../state/actions.js'
import { useConsole } from './context.js'

export function useActions(): Actions {
  const console = useConsole()
  return useMemo(() => new Actions(console), [console])
}
