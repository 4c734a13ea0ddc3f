import { BehaviorSubject } from 'rxjs'

/** Light, dark, or as the system has it. */
export const THEMES = ['system', 'light', 'dark'] as const

/** One of {@link THEMES}. */
export type Theme = (typeof THEMES)[number]

// public/theme.js reads it before the page is painted.
const NAME = 'rx-statestore console theme'

/** The theme, remembered in this browser; painted by what `data-theme` of the root says. */
export function themes(
  root: HTMLElement,
  storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>,
): BehaviorSubject<Theme> {
  const kept = storage.getItem(NAME)
  const theme$ = new BehaviorSubject<Theme>(THEMES.find(theme => theme === kept) ?? 'system')
  theme$.subscribe(theme => {
    if (theme === 'system') {
      delete root.dataset['theme']
      storage.removeItem(NAME)
      return
    }
    root.dataset['theme'] = theme
    storage.setItem(NAME, theme)
  })
  return theme$
}
