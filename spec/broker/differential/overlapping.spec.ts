import { besideMosquitto } from './beside-mosquitto.js'

besideMosquitto('overlapping')
