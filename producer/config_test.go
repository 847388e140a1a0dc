package producer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestConfigurationsThatCannotBe(t *testing.T) {
	for words, c := range map[string]Config{
		"BatchBytes is 10":                 {BatchBytes: 10},
		"MaxBufferedRecords is -1":         {MaxBufferedRecords: -1},
		"MaxBufferedBytes is -1":           {MaxBufferedBytes: -1},
		"DeliveryTimeout is 1ms":           {DeliveryTimeout: time.Millisecond},
		"MaxBlock is -1ns":                 {MaxBlock: -1},
		"TransactionTimeout is 1µs":        {TransactionTimeout: time.Microsecond},
		"a Linger of 1h0m0s":               {Linger: time.Hour},
		"no Acks 9":                        {Acks: 9},
		"no Codec 9":                       {Codec: 9},
		"transactions need AllAcks":        {TransactionalID: "id", Acks: LeaderAck},
		"set TransactionalID, too":         {Group: "g"},
		"there is no Codec -1: choose NoC": {Codec: -1},
	} {
		_, err := New(c)
		if err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), "configuring a producer") {
			t.Errorf("%v does not say %q", err, words)
		}
	}
}

// What is left out is what Kafka's producer does, where it does not say otherwise.
func TestDefaults(t *testing.T) {
	for _, acks := range []Acks{AllAcks, LeaderAck, NoAcks} {
		p, err := New(Config{Acks: acks})
		if err != nil {
			t.Fatal(err)
		}
		defer p.kafka.Close()
		value := p.kafka.OptValue
		if got := value(kgo.DisableIdempotentWrite).(bool); got != (acks != AllAcks) {
			t.Errorf("with %d: not idempotent %v", acks, got)
		}
		if got := value(kgo.ProducerLinger).(time.Duration); got != 5*time.Millisecond {
			t.Errorf("linger %v", got)
		}
		if got := value(kgo.RecordDeliveryTimeout).(time.Duration); got != 2*time.Minute {
			t.Errorf("delivery timeout %v", got)
		}
		if got := value(kgo.ProducerBatchMaxBytes).(int32); got != 1_000_012 {
			t.Errorf("batches of %d bytes", got)
		}
	}
}

// What becomes of a record without a transaction, and what its sender can do.
func TestSendErrors(t *testing.T) {
	r := &Record{Topic: "t"}
	for err, want := range map[error]struct {
		class Class
		words string
	}{
		kgo.ErrRecordTimeout:                   {Retriable, "may have been written or not"},
		kgo.ErrClientClosed:                    {Fatal, "the producer is closed"},
		context.DeadlineExceeded:               {Retriable, "call it again"},
		io.EOF:                                 {Retriable, "EOF"},
		kerr.NotEnoughReplicas:                 {Retriable, "NOT_ENOUGH_REPLICAS"},
		kerr.MessageTooLarge:                   {Illegal, "max.message.bytes"},
		kerr.UnknownTopicOrPartition:           {Illegal, "create the topic first"},
		kerr.TopicAuthorizationFailed:          {Illegal, "may not WRITE"},
		kerr.InvalidRecord:                     {Illegal, "with a key"},
		kerr.ClusterAuthorizationFailed:        {Fatal, "CLUSTER_AUTHORIZATION_FAILED"},
		errors.New("invalid partition choice"): {Illegal, "invalid partition choice"},
	} {
		got := sendError(r, fmt.Errorf("wrapped: %w", err))
		if ClassOf(got) != want.class || !strings.Contains(got.Error(), want.words) || !strings.Contains(got.Error(), "sending a record to t") {
			t.Errorf("%v is %v: %v", err, ClassOf(got), got)
		}
	}
	if ClassOf(nil) != 0 || ClassOf(errors.New("of somebody else")) != Fatal {
		t.Error("what is no error of ours has another class")
	}
}
