import { besideMosquitto } from '../../../server/broker/differential/beside-mosquitto.js'

besideMosquitto('shared')
