import styles from '../style/more.css?inline'
import { styleSheet } from './parts/style-sheet.js'

export { ClientsView } from './clients/clients-view.js'
export { DetailPane } from './detail/detail-pane.js'
export { Dialogs } from './dialogs/dialogs.js'
export { MetricsView } from './metrics/metrics-view.js'
export { ResumeButton } from './resume-button.js'
export { StoreView } from './store/store-view.js'
export { TokenPage } from './token-page.js'

/** The styles of these views, which `loadMore` adds. */
export const sheet = styleSheet(styles)
