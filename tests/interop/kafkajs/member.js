'use strict'

/** One KafkaJS consumer; what it holds is told by the client's own events. */
class Member {
  constructor(kafka, groupId, topic) {
    this.topic = topic
    this.owned = []
    this.values = []
    this.positions = new Map()
    this.crash = null
    this.consumer = kafka.consumer({
      groupId, sessionTimeout: 10000, rebalanceTimeout: 15000, heartbeatInterval: 200, maxWaitTimeInMs: 200,
    })
    const { GROUP_JOIN, REBALANCING, CRASH } = this.consumer.events
    this.consumer.on(GROUP_JOIN, ({ payload }) => { this.joined(payload) })
    this.consumer.on(REBALANCING, () => { this.owned = [] })
    this.consumer.on(CRASH, ({ payload }) => { this.crash = payload.error })
  }

  joined(payload) {
    this.memberId = payload.memberId
    this.leader = payload.isLeader
    this.protocol = payload.groupProtocol
    this.owned = [...(payload.memberAssignment[this.topic] || [])].sort()
  }

  async start() {
    await this.consumer.connect()
    await this.consumer.subscribe({ topics: [this.topic], fromBeginning: true })
    await this.consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        this.values.push(message.value.toString())
        this.positions.set(partition, (BigInt(message.offset) + 1n).toString())
      },
    })
    return this
  }

  /** The partitions held; throws what crashed the consumer, if anything did. */
  held() {
    if (this.crash) throw this.crash
    return this.owned
  }

  /** Commits where this member is on the partitions it holds. */
  async commit() {
    await this.consumer.commitOffsets([...this.positions]
      .filter(([partition]) => this.owned.includes(partition))
      .map(([partition, offset]) => ({ topic: this.topic, partition, offset })))
  }

  async leave() {
    await this.consumer.disconnect()
  }
}

module.exports = { Member }
