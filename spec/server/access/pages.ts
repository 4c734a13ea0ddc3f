/** Verbatim examples from AIO's page "Configure MQTT broker authorization" and from the API reference. */

export const USERNAMES_AND_ATTRIBUTES = `
apiVersion: mqttbroker.iotoperations.azure.com/v1beta1
kind: BrokerAuthorization
metadata:
  name: "my-authz-policies"
  namespace: azure-iot-operations
spec:
  authorizationPolicies:
    cache: Enabled
    rules:
      - principals:
          usernames:
            - "temperature-sensor"
            - "humidity-sensor"
          attributes:
            - city: "seattle"
              organization: "contoso"
        brokerResources:
          - method: Connect
          - method: Publish
            topics:
              - "/telemetry/{principal.username}"
              - "/telemetry/{principal.attributes.organization}"
          - method: Subscribe
            topics:
              - "/commands/{principal.attributes.organization}"
`

export const CLIENT_IDS = `
[
    {
        "brokerResources": [
            {
                "clientIds": [
                    "{principal.attributes.building}*"
                ],
                "method": "Connect",
                "topics": []
            },
            {
                "clientIds": [],
                "method": "Publish",
                "topics": [
                    "sensors/{principal.attributes.building}/{principal.clientId}/telemetry"
                ]
            }
        ],
        "principals": {
            "attributes": [
                {
                    "building": "building22"
                },
                {
                    "building": "building23"
                }
            ]
        }
    }
]
`

export const SERVICE_ACCOUNT = `
apiVersion: mqttbroker.iotoperations.azure.com/v1beta1
kind: BrokerAuthorization
metadata:
  name: "my-authz-policies"
  namespace: azure-iot-operations
spec:
  authorizationPolicies:
    enableCache: false
    rules:
      - principals:
          attributes:
            - group: "authz-sat"
        brokerResources:
          - method: Connect
          - method: Publish
            topics:
              - "odd-numbered-orders"
          - method: Subscribe
            topics:
              - "orders"
`

export const STATE_STORE = `
authorizationPolicies:
  cache: Enabled
  rules:
  - principals:
      usernames: [temperature-sensor, humidity-sensor]
      attributes: [{ building: "17", organization: contoso }]
    brokerResources:
    - method: Connect
      clientIds: ["{principal.attributes.building}*"]
    - method: Publish
      topics: ["sensors/{principal.attributes.building}/{principal.clientId}/telemetry/*"]
    - method: Subscribe
      topics: ["commands/{principal.attributes.organization}"]
    stateStoreResources:
    - method: Read
      keyType: Pattern
      keys: [myreadkey, "myotherkey?", "mynumerickeysuffix[0-9]", "clients:{principal.clientId}:*"]
    - method: ReadWrite
      keyType: Binary
      keys: ["MTE2IDEwMSAxMTUgMTE2"]
`
