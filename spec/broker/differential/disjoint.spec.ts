import { besideMosquitto } from './beside-mosquitto.js'

besideMosquitto('disjoint')
