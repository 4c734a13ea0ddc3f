'use client'
import { connect, number } from 'rx-statestore'
import { useKey } from 'rx-statestore/react'

const store = 'document' in globalThis ? connect('STORE_URL') : undefined

export function SetPoint() {
  const { value, freshness } = useKey(store?.key('setPoint', number))
  return <output data-freshness={freshness.state}>{value ?? '–'} °C</output>
}
