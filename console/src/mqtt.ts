import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'

/**
 * Replaces `mqtt` in this build, because the default timers of mqtt.js run in a worker created from a string, which the
 * page's content security policy forbids.
 */
export default {
  ...mqtt,
  connect: (url: string, options: IClientOptions): MqttClient =>
    mqtt.connect(url, { ...options, timerVariant: 'native' }),
}
