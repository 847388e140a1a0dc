package differential

import (
	"strings"
)

// txnStep reads the commands of scripts about transactions, which are besides those about groups:
//
//	producer NAME                  InitProducerId; names= (own, before, older, newer, nobody) and half= say which id and epoch are sent
//	add NAME                       AddPartitionsToTxn; verify=yes
//	addall NAME…                   the same for several at once, as brokers do
//	adds NAME                      AddOffsetsToTxn, which TxnOffsetCommit does itself from version 5 on
//	send NAME                      Produce; records=, plus= (to the sequence), plain=yes (not transactional)
//	txn NAME at=t/0@1              TxnOffsetCommit; "of" is whose generation is sent
//	ends NAME commit | abort       EndTxn, and waits until it is complete
//	mark NAME commit | abort       WriteTxnMarkers; coordinator= and transaction= are their epoch and version
//	txns ID…, transactions         DescribeTransactions, ListTransactions
//	producers, read, offsets       DescribeProducers, Fetch and ListOffsets; isolation=
//
// A producer's transactional id is its name, or id=; who= is as whom it sends (old=1: with an older epoch); at= the partitions.
func (r scriptReader) txnStep(c command) (step, bool) {
	switch c.verb {
	case "producer":
		return r.initProducer(c), true
	case "add":
		verify := c.text("verify", "") == "yes"
		return addSpec{version: c.version(3), of: []addition{{by: r.by(c), verify: verify, at: r.txnPlaces(c)}}}.step(), true
	case "addall":
		s := addSpec{version: c.version(5)}
		verify, at := c.text("verify", "") == "yes", r.txnPlaces(c)
		for _, name := range c.words {
			s.of = append(s.of, addition{by: by{name: name, id: r.name(name)}, verify: verify, at: at})
		}
		return s.step(), true
	case "adds":
		return addOffsetsSpec{by: r.by(c), version: c.version(3), group: r.group(c)}.step(), true
	case "send":
		return r.send(c), true
	case "txn":
		return r.txnCommit(c), true
	case "ends":
		return endSpec{by: r.by(c), version: c.version(5), commit: c.words[1] == "commit", anyway: true}.step(), true
	case "mark":
		return r.mark(c), true
	}
	return r.txnReadStep(c)
}

func (r scriptReader) txnReadStep(c command) (step, bool) {
	switch c.verb {
	case "txns":
		return describeTxnSpec{ids: r.names(c.words)}.step(), true
	case "transactions":
		return listTxnSpec{
			version: c.version(2), states: listed(c.text("states", "")), producers: listed(c.text("producers", "")),
			duration: c.number("duration", -1), pattern: c.text("pattern", ""),
		}.step(), true
	case "producers":
		at := r.txnPlaces(c)
		return r.w.describeProducersOf(at[0].topic, []int32{at[0].partition}), true
	case "read":
		limits := fetchLimits{wait: 10, max: 1 << 20, isolation: int8(c.number("isolation", 1))}
		from := c.number("from", 0)
		var all []fetchAt
		for _, p := range r.txnPlaces(c) {
			all = append(all, fetchAt{place: p, offset: from, epoch: -1, last: -1, max: 1 << 20})
		}
		return r.w.fetchStep(c.version(17), limits, all), true
	case "offsets":
		return r.w.listStep(c.version(8), r.txnPlaces(c), c.number("time", -1), -1, int8(c.number("isolation", 1))), true
	}
	return step{}, false
}

// by is who sends a command's request.
func (r scriptReader) by(c command) by {
	b := by{name: c.who(), who: c.text("who", "")}
	if id := c.text("id", c.who()); id != "" { // or there is none
		b.id = r.name(id)
	}
	if c.number("old", 0) == 1 {
		b.who = "older"
	}
	return b
}

// txnPlaces are the partitions of a command, t/0 if it says nothing.
func (r scriptReader) txnPlaces(c command) []place {
	var all []place
	for _, one := range listed(c.text("at", "t/0")) {
		name, partition, _ := strings.Cut(one, "/")
		topic := &topic{name: r.name(name)}
		if name == offsetsTopic {
			topic.name = name
		}
		all = append(all, place{topic, number32(partition)})
	}
	return all
}

func (r scriptReader) initProducer(c command) step {
	id := c.text("id", c.who())
	i := initSpec{
		by: c.who(), version: c.version(5), timeout: int32(c.number("timeout", longTransaction)), names: c.text("names", ""), half: c.text("half", ""),
		zombie: c.text("zombie", "") == "yes",
	}
	switch id {
	case "", `""`: // null, or empty
		i.id = id
	default:
		i.id = r.name(id)
	}
	i.half = strings.ReplaceAll(i.half, "_", " ")
	return i.step()
}

func (r scriptReader) send(c command) step {
	return txnProduceSpec{
		by: r.by(c), version: c.version(12), at: r.txnPlaces(c)[0], records: int32(c.number("records", 1)),
		plus: int32(c.number("plus", 0)), plain: c.text("plain", "") == "yes", anyway: true,
	}.step()
}

func (r scriptReader) txnCommit(c command) step {
	s := txnCommitSpec{
		by: r.by(c), version: c.version(5), group: r.group(c), member: c.text("as", ""), instance: c.text("instance", ""),
		of: c.text("of", ""), plus: int32(c.number("plus", 0)),
	}
	metadata := text{of: c.text("metadata", ""), times: int(c.number("repeat", 1))}
	for _, one := range listed(c.text("at", "t/0@1")) {
		name, rest, _ := strings.Cut(one, "/")
		partition, offset, _ := strings.Cut(rest, "@")
		p := commitPartition{partition: number32(partition), offset: int64(number32(offset)), epoch: -1, metadata: metadata}
		if n := len(s.topics); n > 0 && s.topics[n-1].name == r.name(name) {
			s.topics[n-1].partitions = append(s.topics[n-1].partitions, p)
			continue
		}
		s.topics = append(s.topics, commitTopic{name: r.name(name), partitions: []commitPartition{p}})
	}
	return s.step()
}

func (r scriptReader) mark(c command) step {
	m := markersSpec{
		by: r.by(c), version: c.version(2), commit: c.words[1] == "commit", coordinator: int32(c.number("coordinator", 0)),
		transaction: int8(c.number("transaction", 0)), anyway: true,
	}
	if group := c.text("group", ""); group != "" {
		m.group = r.name(group)
	} else {
		m.at = r.txnPlaces(c)
	}
	return m.step()
}
