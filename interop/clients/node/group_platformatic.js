// A group member by @platformatic/kafka, which has one assignor, round-robin.
// Its stream keeps what it has fetched over a rebalance, so that a member of
// this kind takes a new stream for each generation.
'use strict'

const { library } = require('./protocol.js')
const { args, atTheEnd, commitEvery, failed, handled, log, say } = require('./group_protocol.js')

const { Consumer } = library('@platformatic/kafka')

const consumer = new Consumer({
  clientId: args.client,
  groupId: args.group,
  groupInstanceId: args.instance,
  bootstrapBrokers: [args.bootstrap],
  sessionTimeout: args.session,
  heartbeatInterval: args.heartbeat,
  rebalanceTimeout: 30_000,
  autocommit: false,
  maxWaitTime: 100,
  retries: 50,
  retryDelay: 100
})

let owned = []
let pending = new Map()
let stopping = false
let stream

function gone () {
  say('revoked', owned)
  owned = []
  pending = new Map()
  stream?.removeAllListeners('data')
  stream?.close().catch(problem => log('closing a stream:', problem.message))
  stream = undefined
}

async function commit () {
  const offsets = [...pending.values()]
  if (offsets.length === 0 || commit.running) return
  commit.running = true
  try {
    await consumer.commit({ offsets })
    for (const o of offsets) if (pending.get(o.partition) === o) pending.delete(o.partition)
  } catch (problem) {
    log('put off:', problem.message, ...(problem.errors ?? []).map(p => p.message))
  } finally {
    commit.running = false
  }
}

async function joined () {
  if (stopping) return
  gone()
  owned = consumer.assignments?.find(a => a.topic === args.topic)?.partitions ?? []
  say('assigned', owned)
  const generation = consumer.generationId
  const mine = await consumer.consume({ topics: [args.topic], mode: 'committed', fallbackMode: 'earliest', autocommit: false })
  if (stopping || generation !== consumer.generationId) {
    mine.close().catch(() => {})
    return
  }
  stream = mine
  stream.on('error', problem => { // the broker starts again
    log('stream:', problem.message, ...(problem.errors ?? []).map(p => p.message))
    if (stream === mine) setTimeout(() => { if (stream === mine) joined().catch(failed) }, commitEvery)
  })
  stream.on('data', m => {
    if (stream !== mine) return
    handled(m.partition, m.offset, m.offset, 1)
    pending.set(m.partition, { topic: args.topic, partition: m.partition, offset: m.offset + 1n, leaderEpoch: -1 })
  })
}

async function run () {
  consumer.on('error', problem => log('consumer:', problem.message))
  consumer.on('consumer:group:join', () => { joined().catch(failed) })
  consumer.on('consumer:group:rebalance', () => { if (!stopping) gone() }) // else stop commits what is handled, in whichever generation
  setInterval(() => { commit() }, commitEvery)
  consumer.topics.trackAll(args.topic)
  await consumer.joinGroup({})
}

async function stop () {
  stopping = true
  stream?.pause()
  stream?.removeAllListeners('data')
  while (commit.running) await new Promise(resolve => setTimeout(resolve, 10))
  while (pending.size > 0) await commit()
  gone()
  await consumer.close(true)
  process.exit(0)
}

atTheEnd(() => stop().catch(failed))
run().catch(failed)
