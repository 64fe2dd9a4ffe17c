// A @platformatic/kafka consumer as users write it, for `groupmock audit --drive`: all from the environment, automatic commits, closed on
// SIGTERM.
import { Consumer, stringDeserializers } from '@platformatic/kafka'

const env = process.env
const consumer = new Consumer({
  clientId: env.GROUPMOCK_CLIENT_ID, groupId: env.GROUPMOCK_GROUP, bootstrapBrokers: env.GROUPMOCK_BOOTSTRAP.split(','),
  deserializers: stringDeserializers, sessionTimeout: 6000, rebalanceTimeout: 20000, heartbeatInterval: 500, maxWaitTime: 500,
  metadataMaxAge: 2000, autocommit: 500, ...(env.GROUPMOCK_INSTANCE_ID ? { groupInstanceId: env.GROUPMOCK_INSTANCE_ID } : {}),
})
const fail = error => { console.error(error); process.exit(1) }
const stream = await consumer.consume({ topics: [env.GROUPMOCK_TOPIC], mode: 'committed', fallbackMode: 'earliest' }).catch(fail)

process.on('SIGTERM', () => stream.close().then(() => consumer.close()).then(() => process.exit(0), fail))
stream.on('error', fail)
stream.on('data', () => {})
