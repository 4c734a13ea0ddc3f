import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'

/**
 * Stands for `mqtt` in what is built here. Its timers would run in a worker made of a text, which the page's content
 * security policy does not let it have.
 */
export default {
  ...mqtt,
  connect: (url: string, options: IClientOptions): MqttClient =>
    mqtt.connect(url, { ...options, timerVariant: 'native' }),
}
