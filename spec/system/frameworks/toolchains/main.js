// A page that imports every entry for browsers and shows a key.
import { connect, number } from 'rx-statestore'
import * as bridge from 'rx-statestore/bridge'
import * as lease from 'rx-statestore/lease'
import * as matching from 'rx-statestore/matching'
import * as optimistic from 'rx-statestore/optimistic'
import * as pubsub from 'rx-statestore/pubsub'
import * as react from 'rx-statestore/react'
import * as retained from 'rx-statestore/retained'
import * as shadow from 'rx-statestore/shadow'

const root = document.querySelector('#root')
const entries = [bridge, lease, matching, optimistic, pubsub, react, retained, shadow]
const output = root.appendChild(document.createElement('output'))
output.title = `${entries.filter(entry => Object.keys(entry).length > 0).length} entries`
connect('STORE_URL')
  .key('setPoint', number)
  .value$.subscribe(value => {
    output.textContent = `${value} °C`
  })
