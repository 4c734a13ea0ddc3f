// Sets the theme before anything is painted; see src/state/theme.ts.
const theme = localStorage.getItem('rx-statestore console theme')
if (theme !== null) document.documentElement.dataset.theme = theme
