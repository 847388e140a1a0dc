package differential

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func (w *txnWorld) initOf(a *actorRole) initSpec {
	w.active[a.id] = a
	return initSpec{by: a.name, id: a.id, version: w.version(kmsg.InitProducerID), timeout: longTransaction}
}

func (w *txnWorld) initialise() step { return w.initOf(pick(w.world, w.troupe)).step() }

// recoverProducer says who it was, as clients do that have lost an answer (KIP-360).
func (w *txnWorld) recoverProducer() step {
	i := w.initOf(w.someActor())
	i.version, i.names = max(i.version, initRecovers), pick(w.world, []string{"own", "own", "before", "older", "newer", nobody})
	return i.step()
}

// oddInit has one thing wrong with it.
func (w *txnWorld) oddInit() step {
	i := w.initOf(w.someActor())
	switch w.r.IntN(5) {
	case 0:
		i.timeout = pick(w.world, []int32{0, -1, longTransaction + 1})
	case 1:
		i.version, i.names, i.half = max(i.version, initRecovers), "own", pick(w.world, []string{"no id", "no epoch"})
	case 2:
		i.id = `""`
	case 3:
		i.by, i.id = "idempotent", ""
	default:
		i.id, i.by = w.prefix+"other", "other"
	}
	return i.step()
}

// goodPlace is a partition that there is, as far as one can tell.
func (w *txnWorld) goodPlace() place {
	t := w.someTopic()
	for _, other := range w.topics {
		if t.gone && !other.gone {
			t = other
		}
	}
	return place{t, w.r.Int32N(max(1, t.partitions))}
}

func unique(places []place) []place {
	var all []place
	for _, p := range places {
		if !slices.ContainsFunc(all, func(o place) bool { return o.String() == p.String() }) {
			all = append(all, p)
		}
	}
	return all
}

func (w *txnWorld) somePlaces() []place {
	var all []place
	for range 1 + w.r.IntN(3) {
		all = append(all, w.goodPlace())
	}
	switch w.r.IntN(20) {
	case 0:
		all = append(all, w.somePlace())
	case 1:
		all = append(all, place{&topic{name: offsetsTopic, partitions: offsetsPartitions}, groupPartition(w.group)})
	}
	return unique(all)
}

func (w *txnWorld) add() step {
	a := w.someActor()
	s := addSpec{version: w.versionOf(a, kmsg.AddPartitionsToTxn), of: []addition{{by: w.perhapsAs(a), at: w.somePlaces()}}}
	if s.version < addBatched && w.chance(15) {
		s.of[0].at = nil
	}
	return s.step()
}

// addMany is the form that brokers use among themselves.
func (w *txnWorld) addMany() step {
	s := addSpec{version: addBatched + int16(w.r.IntN(2))}
	for range 1 + w.r.IntN(2) {
		s.of = append(s.of, addition{by: w.perhapsAs(w.someActor()), verify: !w.chance(3), at: w.somePlaces()})
	}
	if len(s.of) == 2 && s.of[0].id == s.of[1].id { // Kafka adds only what the second names
		s.of = s.of[:1]
	}
	return s.step()
}

func (w *txnWorld) addOffsets() step {
	a := w.someActor()
	return addOffsetsSpec{by: w.perhapsAs(a), version: w.versionOf(a, kmsg.AddOffsetsToTxn), group: pick(w.world, []string{w.group, w.group, w.group + "-simple", w.group + "-missing", ""})}.step()
}

// send produces to one partition: in a transaction, or as if it were in one.
func (w *txnWorld) send() step {
	a := w.someActor()
	p := txnProduceSpec{by: w.perhapsAs(a), version: w.versionOf(a, kmsg.Produce), at: w.goodPlace(), records: 1 + w.r.Int32N(3)}
	switch w.r.IntN(24) {
	case 0:
		p.at = w.somePlace()
	case 1, 4, 5:
		p.plus = pick(w.world, []int32{1, -p.records, -1, -20})
	case 2:
		p.plain = true
	case 3:
		p.plain, p.id = w.chance(2), ""
	}
	if ends := p.at.topic.ends; ends != nil {
		ends[max(0, p.at.partition)] += int64(p.records)
	}
	return p.step()
}

func (w *txnWorld) txnCommitOf(a *actorRole) txnCommitSpec {
	r := w.someone()
	c := txnCommitSpec{by: w.as(a), version: w.versionOf(a, kmsg.TxnOffsetCommit), group: w.group, member: r.name, instance: r.instance, of: r.name, short: true}
	if w.chance(3) { // who knows nothing of members
		c.member, c.instance, c.of = "", "", ""
	}
	for _, p := range unique([]place{w.goodPlace(), w.goodPlace()}) {
		c.topics = append(c.topics, commitTopic{name: p.topic.name, partitions: []commitPartition{w.commitAt(p.partition)}})
	}
	if len(c.topics) == 2 && c.topics[0].name == c.topics[1].name {
		c.topics[0].partitions = append(c.topics[0].partitions, c.topics[1].partitions...)
		c.topics = c.topics[:1]
	}
	return c
}

func (w *txnWorld) commitAt(partition int32) commitPartition {
	return commitPartition{partition: partition, epoch: w.someEpoch(), metadata: w.someMetadata(), offset: pick(w.world, []int64{0, 1, 7, 8, 9, 1000, 1 << 40, -1})}
}

func (w *txnWorld) txnCommit() step {
	a := w.someActor()
	c := w.txnCommitOf(a)
	c.by = w.perhapsAs(a)
	r := w.someone()
	switch w.r.IntN(14) {
	case 0:
		c.member = w.someID(r)
	case 1:
		c.instance = pick(w.world, []string{"instance-x", r.instance, `""`})
	case 2:
		c.plus = pick(w.world, []int32{-1, 1, 50})
	case 3:
		c.of = ""
	case 4, 5:
		c.group, c.member, c.instance, c.of = w.group+"-simple", "", "", ""
	case 6:
		c.group = pick(w.world, []string{w.group + "-missing", w.group + "-simple", ""})
	case 7:
		c.topics[0].partitions[0].partition = pick(w.world, []int32{-1, 9})
	case 8:
		if c.version >= 6 {
			c.topics[0].byID = pick(w.world, []string{"unknown", "zero"})
		}
	case 9:
		c.topics[0].name = w.someTopic().name
		c.topics = c.topics[:1]
	}
	return c.step()
}

func (w *txnWorld) endOf(a *actorRole, commit bool) endSpec {
	return endSpec{by: w.as(a), version: w.versionOf(a, kmsg.EndTxn), commit: commit}
}

func (w *txnWorld) end() step {
	a := w.someActor()
	e := w.endOf(a, !w.chance(3))
	e.by = w.perhapsAs(a)
	return e.step()
}

// mark writes a marker as an administrator does. Its epochs are never above the coordinator's: Kafka's gives up a transaction
// that a partition refuses to end, and is in Prepare for ever.
func (w *txnWorld) mark() step {
	m := markersSpec{by: w.as(w.someActor()), version: 1 + int16(w.r.IntN(2)), commit: w.chance(2), at: []place{w.goodPlace()}}
	if m.version >= 2 {
		m.transaction = pick(w.world, []int8{0, 1})
	}
	switch w.r.IntN(6) {
	case 0:
		m.at = []place{{m.at[0].topic, 9}}
	case 1, 2:
		m.group = w.group
	}
	return m.step()
}

func (w *txnWorld) describeTxn() step {
	ids := w.ids()
	switch w.r.IntN(6) {
	case 0:
		ids = append(ids, w.prefix+"missing", "")
	case 1:
		ids = append(ids, ids[0])
	case 2:
		ids = nil
	}
	return describeTxnSpec{ids: ids}.step()
}

func (w *txnWorld) listTxn() step {
	l := listTxnSpec{version: w.version(kmsg.ListTransactions), duration: pick(w.world, []int64{-1, -1, 3_600_000, -7})}
	for range w.r.IntN(3) {
		l.states = append(l.states, pick(w.world, []string{"Ongoing", "CompleteCommit", "CompleteAbort", "Empty", "ongoing", "nonsense", "", "Dead", "PrepareEpochFence"}))
	}
	for range w.r.IntN(2) {
		l.producers = append(l.producers, pick(w.world, []string{w.troupe[0].name, w.troupe[1].name, nobody}))
	}
	if l.version >= 2 {
		l.pattern = pick(w.world, []string{"", "", `""`, ".*x", w.prefix + "x", "x", w.prefix + "[xy]", "(", "[[:alpha:]].*y"})
	}
	return l.step()
}

// readCommitted reads what is committed from somewhere on.
func (w *txnWorld) readCommitted() step {
	p := w.goodPlace()
	return w.fetchStep(w.version(kmsg.Fetch), fetchLimits{wait: 10, min: 0, max: 1 << 20, isolation: 1}, []fetchAt{{place: p, offset: w.someOffset(p.topic, p.partition), epoch: -1, last: -1, max: 1 << 20}})
}

func (w *world) fetchStep(version int16, limits fetchLimits, at []fetchAt) step {
	return step{
		text: say("Fetch", version, "%+v %v", limits, at),
		request: func(s *side) kmsg.Request {
			request := newFetch(version, limits)
			for _, f := range at {
				addFetch(s, request, f)
			}
			return request
		},
	}
}

// fetchCommitted reads what is committed of every partition of a topic.
func (w *txnWorld) fetchCommitted(t *topic) step {
	var all []fetchAt
	for p := range t.partitions {
		all = append(all, fetchAt{place: place{t, p}, epoch: -1, last: -1, max: 4 << 20})
	}
	return w.fetchStep(w.ranges[kmsg.Fetch.Int16()].max, fetchLimits{wait: 10, min: 0, max: 16 << 20, isolation: 1}, all)
}

func (w *txnWorld) listCommitted(t *topic) step {
	var all []place
	for p := range t.partitions {
		all = append(all, place{t, p})
	}
	return w.listStep(w.ranges[kmsg.ListOffsets.Int16()].max, all, -1, -1, 1)
}

func (w *txnWorld) fetchStable() step {
	f := offsetFetchSpec{version: max(7, w.version(kmsg.OffsetFetch)), groups: []string{w.someGroup()}, stable: !w.chance(4), epoch: -1, topics: w.everyPartition()}
	if w.chance(4) {
		f.all, f.topics = true, nil
	}
	if f.version >= 10 {
		f.topics = slices.DeleteFunc(f.topics, func(t fetchTopic) bool { return w.isGone(t.name) })
	}
	return f.step()
}

func (w *txnWorld) isGone(name string) bool {
	return slices.ContainsFunc(w.topics, func(t *topic) bool { return t.name == name && t.gone })
}

// dropInside deletes a topic, perhaps one that transactions write to or have offsets of.
func (w *txnWorld) dropInside() step {
	s := w.deleteOne()
	settled, name := s.after, strings.Fields(s.text)[2]
	s.after = func(side *side, response kmsg.Response) error {
		return errors.Join(settled(side, response), side.settlePending(name, response))
	}
	return s
}

// settlePending waits until offsets of a deleted topic are gone from open transactions, too.
func (s *side) settlePending(name string, response kmsg.Response) error {
	for _, t := range response.(*kmsg.DeleteTopicsResponse).Topics {
		if t.ErrorCode != 0 {
			return nil
		}
	}
	for end := time.Now().Add(oneSided); time.Now().Before(end); pause(5 * time.Millisecond) {
		pending, err := s.hasPending(name)
		if err != nil || !pending {
			return err
		}
	}
	return errors.New("offsets of a deleted topic stay in a transaction")
}

func (s *side) hasPending(name string) (bool, error) {
	for group := range s.cast.committed {
		f := offsetFetchSpec{version: 8, groups: []string{group}, topics: []fetchTopic{{name: name, partitions: []int32{0, 1, 2, 3}}}, stable: true}
		response, err := s.ask(f.step().request(s))
		if err != nil {
			return false, err
		}
		for _, t := range response.(*kmsg.OffsetFetchResponse).Groups[0].Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode != 0 || p.Offset >= 0 {
					return true, nil
				}
			}
		}
	}
	return false, nil
}
