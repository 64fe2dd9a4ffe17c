// client: @platformatic/kafka 1.35.0
// breaks: CLIENT-34
// run: groupmock run --topic orders:1 --journal finding.jsonl -- node platformatic-subscription.mjs
//
// The metadata that @platformatic/kafka sends in JoinGroup says that it is a Subscription of version 1 and ends before `owned_partitions`,
// which version 1 has (KIP-429). A leader of another library that reads what the version promises runs off the end of it: a group that mixes
// libraries cannot be assigned.
import { Consumer, stringDeserializers } from '@platformatic/kafka'

const consumer = new Consumer({
  clientId: 'desk', groupId: 'desk', bootstrapBrokers: [process.env.GROUPMOCK_BOOTSTRAP], deserializers: stringDeserializers,
})
const stream = await consumer.consume({ topics: ['orders'], mode: 'latest' })
stream.on('data', () => {})
setTimeout(() => stream.close().then(() => consumer.close()), 3000)
