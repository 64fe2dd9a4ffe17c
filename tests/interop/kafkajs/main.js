// A KafkaJS group against any broker: joins, consumes, commits, leaves.
//
// Usage: KAFKA_BOOTSTRAP=host:port node main.js. Exit status 0 only if every fact is as Kafka's own.
// KafkaJS has one assignor (RoundRobinAssigner) and no group.instance.id, so neither is a parameter here.
'use strict'

const { Kafka, Partitioners, logLevel } = require('kafkajs')
const { version } = require('kafkajs/package.json')
const { Facts } = require('./facts')
const { Member } = require('./member')

const PARTITIONS = 6
const BATCH = 60

class Run {
  constructor(bootstrap, facts) {
    const suffix = `${Date.now().toString(16)}-${process.pid}`
    this.facts = facts
    this.topic = `interop-kafkajs-${suffix}`
    this.group = `interop-kafkajs-group-${suffix}`
    this.kafka = new Kafka({
      clientId: 'interop-kafkajs', brokers: bootstrap.split(','), logLevel: logLevel.NOTHING,
      connectionTimeout: 5000, requestTimeout: 10000, retry: { retries: 5, initialRetryTime: 50, maxRetryTime: 1000 },
    })
    this.admin = this.kafka.admin()
    this.producer = this.kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, allowAutoTopicCreation: false })
  }

  async scenario() {
    await Promise.all([this.admin.connect(), this.producer.connect()])
    await this.createTopic()
    const first = await this.alone()
    const second = await this.joined(first)
    await this.deliveredOnce(first, second)
    await this.described()
    await this.takeover(first, second)
    await this.resumed()
    await this.deleted()
    await Promise.all([this.admin.disconnect(), this.producer.disconnect()])
  }

  async createTopic() {
    this.facts.step('create topic')
    const created = await this.admin.createTopics({
      topics: [{ topic: this.topic, numPartitions: PARTITIONS, replicationFactor: 1 }], waitForLeaders: true,
    })
    this.facts.same('created', true, created)
    const { topics } = await this.admin.fetchTopicMetadata({ topics: [this.topic] })
    this.facts.same('partitions', PARTITIONS, topics[0].partitions.length)
  }

  member() {
    return new Member(this.kafka, this.group, this.topic).start()
  }

  /** The first member holds everything before the second comes, so that the second round really moves partitions. */
  async alone() {
    this.facts.step('one member joins')
    const first = await this.member()
    await this.facts.await('all partitions', () => first.held().length === PARTITIONS, () => first.held())
    return first
  }

  async joined(first) {
    this.facts.step('a second member joins')
    const second = await this.member()
    const shared = () => first.held().length === PARTITIONS / 2 && second.held().length === PARTITIONS / 2
      && new Set([...first.held(), ...second.held()]).size === PARTITIONS
    await this.facts.await('three partitions each', shared, () => [first.held(), second.held()])
    this.facts.same('one_leader', 1, [first, second].filter(each => each.leader).length)
    this.facts.same('protocol', 'RoundRobinAssigner', first.protocol)
    return second
  }

  async produce(prefix) {
    const values = Array.from({ length: BATCH }, (_, index) => `${prefix}-${index}`)
    const messages = values.map((value, index) => ({ key: `key-${index}`, value }))
    const answer = await this.producer.send({ topic: this.topic, messages, acks: -1 })
    this.facts.same(`produced_to_${prefix}`, PARTITIONS, answer.length)
    return values.sort()
  }

  /** Every wanted value came exactly once and nothing else did. */
  sameRecords(name, wanted, got) {
    const missing = wanted.filter(each => !got.includes(each))
    const surplus = got.filter((each, index) => !wanted.includes(each) || got.indexOf(each) !== index)
    this.facts.same(name, { missing: [], surplus: [] }, { missing, surplus })
  }

  async offsets() {
    const [ends, [committed]] = await Promise.all([
      this.admin.fetchTopicOffsets(this.topic),
      this.admin.fetchOffsets({ groupId: this.group, topics: [this.topic] }),
    ])
    const table = rows => Object.fromEntries(rows.map(({ partition, offset }) => [partition, offset]))
    return { ends: table(ends), committed: table(committed.partitions) }
  }

  async committedEverything(name) {
    const { ends, committed } = await this.offsets()
    this.facts.same(name, ends, committed)
  }

  async deliveredOnce(first, second) {
    this.facts.step('delivered once')
    const wanted = await this.produce('a')
    const got = () => [...first.values, ...second.values].sort()
    await this.facts.await('all records', () => got().length >= BATCH, () => `${got().length} records`)
    this.sameRecords('delivered_once', wanted, got())
    this.facts.same('both_got_some', true, first.values.length > 0 && second.values.length > 0)
    await Promise.all([first.commit(), second.commit()])
    await this.committedEverything('committed')
  }

  async state() {
    const { groups: [described] } = await this.admin.describeGroups([this.group])
    return described
  }

  async described() {
    this.facts.step('describe and list groups')
    const described = await this.state()
    this.facts.same('state', 'Stable', described.state)
    this.facts.same('members', 2, described.members.length)
    this.facts.same('described_protocol', 'RoundRobinAssigner', described.protocol)
    const { groups } = await this.admin.listGroups()
    this.facts.same('listed', 'consumer', groups.find(each => each.groupId === this.group)?.protocolType)
  }

  async takeover(first, second) {
    this.facts.step('one member leaves')
    const left = Date.now()
    await second.leave()
    await this.facts.await('all partitions with the first', () => first.held().length === PARTITIONS, () => first.held())
    this.facts.put('takeover_ms', Date.now() - left)
    const wanted = await this.produce('b')
    const got = () => [...first.values, ...second.values]
    await this.facts.await('the second batch', () => got().length >= 2 * BATCH, () => `${got().length} records`)
    this.sameRecords('takeover_delivered_once', wanted, got().filter(each => each.startsWith('b-')))
    this.facts.same('takeover_redelivered', 0, got().length - 2 * BATCH)
    await first.commit()
    await first.leave()
    this.facts.same('state_after_leave', 'Empty', (await this.state()).state)
  }

  async resumed() {
    this.facts.step('restart resumes from the commit')
    const wanted = await this.produce('c')
    const again = await this.member()
    await this.facts.await('the third batch', () => again.values.length >= BATCH, () => `${again.values.length} records`)
    this.sameRecords('resumed', wanted, again.values)
    await again.commit()
    await again.leave()
    await this.committedEverything('committed_at_end')
  }

  async deleted() {
    this.facts.step('delete group and topic')
    await this.admin.deleteGroups([this.group])
    const { groups } = await this.admin.listGroups()
    this.facts.same('listed_after_delete', false, groups.some(each => each.groupId === this.group))
    this.facts.same('state_after_delete', 'Dead', (await this.state()).state)
    await this.admin.deleteTopics({ topics: [this.topic] })
    const gone = async () => !(await this.admin.listTopics()).includes(this.topic)
    await this.facts.await('the topic to go', gone, () => 'still listed')
  }
}

function main() {
  const bootstrap = process.env.KAFKA_BOOTSTRAP
  if (!bootstrap) {
    process.stderr.write('usage: KAFKA_BOOTSTRAP=host:port node main.js\n')
    process.exit(2)
  }
  const facts = new Facts(`kafkajs ${version}`)
  new Run(bootstrap, facts).scenario().then(() => facts.end(), error => {
    process.stderr.write(`${error.stack}\n`)
    facts.end(`${error.name}: ${error.message}`)
  })
}

main()
