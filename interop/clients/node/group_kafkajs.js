// A group member by kafkajs, which has one assignor, round-robin, and no static
// members.
'use strict'

const { library } = require('./protocol.js')
const { args, atTheEnd, commitEvery, failed, handled, log, say } = require('./group_protocol.js')

const { Kafka, logLevel } = library('kafkajs')

const consumer = new Kafka({
  clientId: args.client,
  brokers: [args.bootstrap],
  logLevel: logLevel.WARN,
  logCreator: () => entry => log(entry.label, entry.namespace, entry.log.message, entry.log.error ?? ''),
  retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: 20 }
}).consumer({
  groupId: args.group,
  sessionTimeout: args.session,
  heartbeatInterval: args.heartbeat,
  rebalanceTimeout: 30_000,
  maxWaitTimeInMs: 100
})

let owned = []
let pending = new Map()
let committed = Date.now()
let stopping = false
let busy = Promise.resolve()

function gone () {
  say('revoked', owned)
  owned = []
  pending = new Map()
}

async function commit () {
  const offsets = [...pending].map(([partition, offset]) => ({ topic: args.topic, partition, offset }))
  if (offsets.length === 0) return
  await consumer.commitOffsets(offsets)
  for (const { partition, offset } of offsets) if (pending.get(partition) === offset) pending.delete(partition)
  committed = Date.now()
}

async function handle ({ batch, resolveOffset, heartbeat }) {
  if (stopping || batch.messages.length === 0) return
  const last = batch.messages.at(-1).offset
  handled(batch.partition, batch.firstOffset(), last, batch.messages.length)
  pending.set(batch.partition, String(BigInt(last) + 1n))
  resolveOffset(last)
  if (Date.now() - committed >= commitEvery) await commit()
  await heartbeat()
}

async function run () {
  consumer.on(consumer.events.GROUP_JOIN, e => {
    gone()
    owned = e.payload.memberAssignment[args.topic] ?? []
    say('assigned', owned)
  })
  consumer.on(consumer.events.REBALANCING, gone)
  consumer.on(consumer.events.CRASH, e => { if (!e.payload.restart) failed(e.payload.error) })
  await consumer.connect()
  await consumer.subscribe({ topics: [args.topic], fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    eachBatch: payload => (busy = handle(payload))
  })
}

async function stop () {
  stopping = true
  await busy.catch(() => {})
  await commit()
  gone()
  await consumer.disconnect()
  process.exit(0)
}

atTheEnd(() => stop().catch(failed))
run().catch(failed)
