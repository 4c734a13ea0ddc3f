import { SetPoint } from './set-point'

export default function Page() {
  return <SetPoint />
}
