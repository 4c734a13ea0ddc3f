import { besideMosquitto } from '../../../server/broker/differential/beside-mosquitto.js'

besideMosquitto('overlapping', [['a will that looks like a message was not counted', 650_709_358]])
