package differential

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// txnWorld draws the steps of a case about transactions: of producers that share transactional ids, over topics, and over the
// offsets of a group whose members come and go.
type txnWorld struct {
	*groupWorld
	troupe []*actorRole
	active map[string]*actorRole // who has initialised a transactional id last
}

// actorRole is the idea of an actor.
type actorRole struct {
	name, id string
	modern   bool // speaks the requests of KIP-890
}

func newTxnWorld(seed uint64, prefix string, ranges map[int16]versions, now int64) *txnWorld {
	w := &txnWorld{groupWorld: newGroupWorld(seed, prefix, ranges, now), active: make(map[string]*actorRole)}
	w.casts, w.votes = w.casts[:1+w.r.IntN(min(2, len(w.casts)))], false
	for _, name := range []string{"P", "Q", "R"}[:2+w.r.IntN(2)] {
		w.troupe = append(w.troupe, &actorRole{name: name, id: prefix + pick(w.world, []string{"x", "x", "y"}), modern: w.chance(2)})
	}
	return w
}

// steps draws a case of about n steps.
func (w *txnWorld) steps(n int) []step {
	w.step = []step{w.createOne("plain"), w.createOne(pick(w.world, []string{"plain", "compact", "append time"}))}
	for _, r := range w.casts {
		w.renew(r)
	}
	for _, a := range w.troupe {
		w.step = append(w.step, w.initOf(a).step())
	}
	makers := w.txnMakers()
	for len(w.step) < n {
		switch w.r.IntN(20) {
		case 0:
			w.converge()
		case 1:
			w.whole(w.someActor())
		default:
			w.step = append(w.step, pickWeighted(w.world, makers)())
		}
	}
	return append(w.step, w.txnEnd()...)
}

func (w *txnWorld) txnMakers() []maker {
	return []maker{
		{5, w.initialise}, {3, w.recoverProducer}, {2, w.oddInit},
		{9, w.add}, {4, w.addMany}, {5, w.addOffsets}, {26, w.send}, {18, w.txnCommit}, {17, w.end}, {3, w.mark},
		{4, w.describeTxn}, {3, w.listTxn}, {4, w.describeProducers}, {8, w.fetch}, {5, w.readCommitted}, {5, w.listOffsets},
		{9, w.fetchStable}, {5, w.commit}, {3, w.offsetDelete}, {1, w.deleteGroups}, {1, w.newTopic}, {1, w.dropInside},
		{4, w.join}, {2, w.joinAnew}, {2, w.joinHandedOut}, {3, w.leaderSync}, {2, w.followerSync}, {2, w.heartbeat}, {2, w.leave}, {2, w.describe},
	}
}

// whole is a transaction as clients make them.
func (w *txnWorld) whole(a *actorRole) {
	at := []place{w.goodPlace(), w.goodPlace()}
	if !a.modern {
		w.step = append(w.step, addSpec{version: int16(w.r.IntN(addBatched)), of: []addition{{by: w.as(a), at: unique(at)}}}.step())
		w.step = append(w.step, addOffsetsSpec{by: w.as(a), version: w.versionOf(a, kmsg.AddOffsetsToTxn), group: w.group}.step())
	}
	for _, p := range at {
		w.step = append(w.step, txnProduceSpec{by: w.as(a), version: w.versionOf(a, kmsg.Produce), at: p, records: 2}.step())
	}
	w.step = append(w.step, w.txnCommitOf(a).step(), w.endOf(a, !w.chance(3)).step())
}

// txnEnd looks at everything, ends what is open, and looks again.
func (w *txnWorld) txnEnd() []step {
	steps := w.looks()
	for _, a := range w.troupe {
		e := w.endOf(a, w.chance(2))
		e.version = 4
		steps = append(steps, e.step())
	}
	for _, a := range w.troupe { // whoever was fenced has left nothing open
		steps = append(steps, initSpec{by: a.name, id: a.id, version: 5, timeout: longTransaction}.step())
	}
	return append(append(steps, w.looks()...), w.groupEnd()...)
}

func (w *txnWorld) looks() []step {
	steps := []step{
		describeTxnSpec{ids: w.ids()}.step(),
		listTxnSpec{version: 2, duration: -1}.step(),
		offsetFetchSpec{version: 8, groups: []string{w.group, w.group + "-simple"}, topics: w.everyPartition(), stable: true, epoch: -1}.step(),
		w.fetchEverything(w.group), w.fetchEverything(w.group + "-simple"),
	}
	for _, t := range w.topics {
		steps = append(steps, w.fetchAll(t), w.fetchCommitted(t), w.listCommitted(t), w.describeAllProducers(t))
	}
	return steps
}

func (w *txnWorld) ids() []string {
	var ids []string
	for _, a := range w.troupe {
		if !slices.Contains(ids, a.id) {
			ids = append(ids, a.id)
		}
	}
	return ids
}

func (w *txnWorld) everyPartition() []fetchTopic {
	var all []fetchTopic
	for _, t := range w.topics {
		all = append(all, fetchTopic{name: t.name, partitions: []int32{0, 1, 2, 3}})
	}
	return all
}

// someActor is mostly one that has not been fenced.
func (w *txnWorld) someActor() *actorRole {
	a := pick(w.world, w.troupe)
	if active := w.active[a.id]; active != nil && !w.chance(4) {
		return active
	}
	return a
}

// as is the actor as itself.
func (w *txnWorld) as(a *actorRole) by { return by{name: a.name, id: a.id} }

// perhapsAs is mostly the actor as itself.
func (w *txnWorld) perhapsAs(a *actorRole) by {
	b := w.as(a)
	switch w.r.IntN(40) {
	case 0:
		b.who = "older"
	case 1, 2, 3:
		b.who = "before"
	case 4:
		b.who = nobody
	case 5:
		b.id = pick(w.world, []string{"", w.prefix + "missing", w.prefix + "x", w.prefix + "y"})
		b.foreign = b.id != a.id
	}
	return b
}

// newestOld is the last version of clients before KIP-890.
func newestOld(key kmsg.Key) int16 {
	switch key {
	case kmsg.Produce:
		return 11
	case kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn:
		return 3
	}
	return 4 // EndTxn, TxnOffsetCommit
}

// versionOf is mostly one of an actor's own.
func (w *txnWorld) versionOf(a *actorRole, key kmsg.Key) int16 {
	v := w.ranges[key.Int16()]
	least := v.min
	if key == kmsg.Produce {
		least = 3
	}
	own, other := versions{least, newestOld(key)}, versions{newestOld(key) + 1, v.max}
	if a.modern != w.chance(10) {
		own, other = other, own
	}
	if own.min > own.max {
		own = other
	}
	if w.chance(2) {
		return own.max
	}
	return own.min + int16(w.r.IntN(int(own.max-own.min+1)))
}
