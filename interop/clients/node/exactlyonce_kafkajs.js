// A worker that consumes, transforms and produces exactly once, by kafkajs: see
// exactlyonce/worker.go. It knows no metadata of groups in transactions, so that
// each partition of the input has a producer of its own, which fences that of
// whoever had the partition before.
'use strict'

const { library } = require('./protocol.js')
const { args, atTheEnd, failed, log, out } = require('./group_protocol.js')

const { Kafka, logLevel } = library('kafkajs')

const batchSize = 20
const abortEvery = 6
const pauseTime = 20 // ms

const [output, partitions, transactionalId, timeout] = process.argv.slice(10)
const kafka = new Kafka({
  clientId: args.client,
  brokers: [args.bootstrap],
  logLevel: logLevel.WARN,
  logCreator: () => entry => log(entry.label, entry.namespace, entry.log.message, entry.log.error ?? ''),
  retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: 20 }
})
const consumer = kafka.consumer({
  groupId: args.group,
  sessionTimeout: args.session,
  heartbeatInterval: args.heartbeat,
  rebalanceTimeout: 30_000,
  maxWaitTimeInMs: 100
})
const admin = kafka.admin()
const producers = new Map() // by partition: {producer, committed}
let attempts = 0
let stopping = false
let busy = Promise.resolve()

const pause = () => new Promise(resolve => setTimeout(resolve, pauseTime))

// ownerOf takes a partition over: first it fences who had it before, whose
// transaction is over then, and only then it asks where the group is. What the
// consumer has of inputs below that is handled already.
async function ownerOf (partition) {
  let owner = producers.get(partition)
  if (owner === undefined) {
    const producer = kafka.producer({
      transactionalId: `${transactionalId}-${partition}`, transactionTimeout: Number(timeout), idempotent: true, maxInFlightRequests: 1
    })
    await producer.connect()
    await initialize(producer)
    const [{ partitions }] = await admin.fetchOffsets({ groupId: args.group, topics: [args.topic] })
    owner = { producer, committed: BigInt(partitions.find(p => p.partition === partition)?.offset ?? -1) }
    producers.set(partition, owner)
  }
  return owner
}

// initialize has kafkajs ask for the producer's epoch, which it does with its
// first transaction.
async function initialize (producer) {
  await (await producer.transaction()).abort()
}

async function drop (partition) {
  const owner = producers.get(partition)
  producers.delete(partition)
  await owner?.producer.disconnect().catch(problem => log('disconnecting:', problem.message))
}

async function handle ({ batch, resolveOffset, heartbeat, isRunning, isStale }) {
  if (stopping || !isRunning() || isStale() || batch.messages.length === 0) return
  const owner = await ownerOf(batch.partition)
  const fresh = batch.messages.filter(m => BigInt(m.offset) >= owner.committed)
  if (fresh.length === 0) {
    resolveOffset(batch.messages.at(-1).offset)
    return
  }
  const messages = fresh.slice(0, batchSize)
  const next = BigInt(messages.at(-1).offset) + 1n
  if (await transact(owner.producer, batch.partition, messages, next)) {
    owner.committed = next
    resolveOffset(messages.at(-1).offset)
  }
  await heartbeat()
}

// transact tells whether the transaction is committed. After a failure, which
// may have been one of the commit's answer, the partition is taken over anew.
async function transact (producer, partition, messages, next) {
  const attempt = ++attempts
  out(`began ${attempt} ${messages.length}`)
  try {
    const transaction = await producer.transaction()
    await transaction.send({ topic: output, messages: messages.map(m => outputOf(m, attempt, messages.length)) })
    await pause()
    await transaction.sendOffsets({
      consumerGroupId: args.group,
      topics: [{ topic: args.topic, partitions: [{ partition, offset: String(next) }] }]
    })
    out(`ending ${attempt}`)
    await pause()
    if (attempt % abortEvery === 0) {
      await transaction.abort()
      out(`aborted ${attempt}`)
      return false
    }
    await transaction.commit()
    out(`committed ${attempt}`)
    return true
  } catch (problem) {
    log(`transaction ${attempt}:`, problem.message)
    await drop(partition)
    return false
  }
}

function outputOf (message, attempt, size) {
  const text = message.value.toString()
  const words = text.split(' ')
  if (words.length !== 2) failed(new Error(`an input is ${text}`))
  return { partition: (Number(words[0]) + Number(words[1])) % Number(partitions), value: `${text} ${args.client} ${attempt} ${size}` }
}

async function run () {
  consumer.on(consumer.events.GROUP_JOIN, e => {
    const mine = e.payload.memberAssignment[args.topic] ?? []
    for (const p of producers.keys()) if (!mine.includes(p)) drop(p)
  })
  consumer.on(consumer.events.CRASH, e => { if (!e.payload.restart) failed(e.payload.error) })
  await admin.connect()
  await consumer.connect()
  await consumer.subscribe({ topics: [args.topic], fromBeginning: true })
  await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: payload => (busy = handle(payload)) })
}

async function stop () {
  stopping = true
  await busy.catch(() => {})
  await consumer.disconnect()
  process.exit(0)
}

atTheEnd(() => stop().catch(failed))
run().catch(failed)
