package files

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/scripts"
)

// played is a command.
type played struct {
	scripts.Options
	who       *producer
	verb      string
	codes     []string
	identity  producer
	id        string
	version   int16
	timeoutMs int32
}

func (c *played) has(word string) bool { return slices.Contains(c.Words, word) }

func (p *play) parse(command string) *played {
	words := strings.Fields(command)
	if p.producers[words[0]] == nil {
		p.producers[words[0]] = &producer{-1, -1}
	}
	c := &played{Options: scripts.Parse(p.t, words[2:]), who: p.producers[words[0]], verb: words[1], id: p.name + "-tx"}
	c.identity, c.timeoutMs = *c.who, c.Milliseconds("timeout", "1m")
	if id := c.Text("id", ""); id != "" {
		c.id = p.name + "-" + id
	} else if c.Given("id") {
		c.id = ""
	}
	if c.Given("pid") {
		id := c.Number("pid", 0)
		c.identity.id = id + 1_000_000
		if theirs, known := p.ids[id]; known {
			c.identity.id = theirs
		}
	}
	c.identity.epoch = int16(c.Number("epoch", int64(c.identity.epoch)))
	c.version = c.versionFor()
	return c
}

// versionFor is the version of the request: that of the script, but for what a client leaves to brokers.
func (c *played) versionFor() int16 {
	v := map[string]int16{"init": 5, "recover": 5, "add": 3, "verify": 4, "commit": 5, "abort": 5}[c.verb]
	v = int16(c.Number("v", int64(v)))
	if c.has("implicit") {
		v = 5
	}
	return v
}

// request sends the request of a command once.
func (p *play) request(ctx context.Context, c *played) (int16, producer) {
	p.t.Helper()
	switch c.verb {
	case "init", "recover":
		return p.initialise(ctx, c)
	case "add", "verify":
		if c.has("offsets") {
			r := kmsg.NewPtrAddOffsetsToTxnRequest()
			r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.Group = c.id, c.identity.id, c.identity.epoch, "g"
			return request[*kmsg.AddOffsetsToTxnResponse](ctx, p.driver, c.version, r).ErrorCode, producer{-1, -1}
		}
		return p.addPartitions(ctx, c), producer{-1, -1}
	}
	r := kmsg.NewPtrEndTxnRequest()
	r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.Commit = c.id, c.identity.id, c.identity.epoch, c.verb == "commit"
	response := request[*kmsg.EndTxnResponse](ctx, p.driver, c.version, r)
	if c.version < 5 {
		return response.ErrorCode, producer{-1, -1}
	}
	return response.ErrorCode, producer{response.ProducerID, response.ProducerEpoch}
}

func (p *play) initialise(ctx context.Context, c *played) (int16, producer) {
	r := kmsg.NewPtrInitProducerIDRequest()
	r.TransactionalID, r.TransactionTimeoutMillis = &c.id, c.timeoutMs
	if c.verb == "recover" {
		r.ProducerID, r.ProducerEpoch = c.identity.id, c.identity.epoch
	}
	response := request[*kmsg.InitProducerIDResponse](ctx, p.driver, c.version, r)
	return response.ErrorCode, producer{response.ProducerID, response.ProducerEpoch}
}

// addPartitions is AddPartitionsToTxn as clients send it, and from version 4 on as brokers do.
func (p *play) addPartitions(ctx context.Context, c *played) int16 {
	if len(c.Words) == 0 { // no partition can say that markers of the last transaction are still being written
		p.settle(ctx, c.id)
	}
	r := kmsg.NewPtrAddPartitionsToTxnRequest()
	r.TransactionalID, r.ProducerID, r.ProducerEpoch = c.id, c.identity.id, c.identity.epoch
	r.Topics = c.topics()
	tx := kmsg.AddPartitionsToTxnRequestTransaction{TransactionalID: c.id, ProducerID: c.identity.id, ProducerEpoch: c.identity.epoch, VerifyOnly: c.verb == "verify"}
	for _, t := range r.Topics {
		tx.Topics = append(tx.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic(t))
	}
	r.Transactions = append(r.Transactions, tx)
	response := request[*kmsg.AddPartitionsToTxnResponse](ctx, p.driver, c.version, r)
	byPartition := map[string]int16{}
	for _, t := range response.Topics {
		for _, r := range t.Partitions {
			byPartition[t.Topic+"-"+strconv.Itoa(int(r.Partition))] = r.ErrorCode
		}
	}
	for _, tx := range response.Transactions {
		for _, t := range tx.Topics {
			for _, r := range t.Partitions {
				byPartition[t.Topic+"-"+strconv.Itoa(int(r.Partition))] = r.ErrorCode
			}
		}
	}
	return c.judge(byPartition, response.ErrorCode)
}

// judge is the code that all partitions have; a verification whose partitions are in the transaction or not has none.
func (c *played) judge(byPartition map[string]int16, code int16) int16 {
	c.codes = nil
	for _, w := range c.Words {
		one, answered := byPartition[w]
		if !answered {
			continue
		}
		if c.verb == "add" || one != 0 && one != kerr.TransactionAbortable.Code {
			code = one
		}
		name := "ok"
		if one != 0 {
			name = kerr.TypedErrorForCode(one).Message
		}
		c.codes = append(c.codes, name)
	}
	return code
}

// topics has each topic once, as Kafka wants it.
func (c *played) topics() []kmsg.AddPartitionsToTxnRequestTopic {
	var all []kmsg.AddPartitionsToTxnRequestTopic
	for _, w := range c.Words {
		at := strings.LastIndexByte(w, '-')
		if at < 0 {
			continue
		}
		n, _ := strconv.Atoi(w[at+1:])
		i := slices.IndexFunc(all, func(t kmsg.AddPartitionsToTxnRequestTopic) bool { return t.Topic == w[:at] })
		if i < 0 {
			i = len(all)
			all = append(all, kmsg.AddPartitionsToTxnRequestTopic{Topic: w[:at]})
		}
		all[i].Partitions = append(all[i].Partitions, int32(n))
	}
	return all
}
