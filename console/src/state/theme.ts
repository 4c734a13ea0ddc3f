import { BehaviorSubject } from 'rxjs'

export const THEMES = ['system', 'light', 'dark'] as const

export type Theme = (typeof THEMES)[number]

// public/theme.js reads this item before the first paint.
const STORAGE_KEY = 'rx-statestore console theme'

/** Emits the theme, which is remembered in this browser and applied as `data-theme` of the root. */
export function themes(
  root: HTMLElement,
  storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>,
): BehaviorSubject<Theme> {
  const stored = storage.getItem(STORAGE_KEY)
  const theme$ = new BehaviorSubject<Theme>(THEMES.find(theme => theme === stored) ?? 'system')
  theme$.subscribe(theme => {
    if (theme === 'system') {
      delete root.dataset['theme']
      storage.removeItem(STORAGE_KEY)
      return
    }
    root.dataset['theme'] = theme
    storage.setItem(STORAGE_KEY, theme)
  })
  return theme$
}
