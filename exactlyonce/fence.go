package exactlyonce

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/internal/fence"
)

// fencer gives a Run its transactional id, and ends the transactions that dead members of its group have left open
// (docs/decision/0010-fencing-the-dead.md). The id is random, or for ever: from InstanceID, or chosen by the user. Members publish it, and
// the leader of the group fences those that vanish. It does so beside the rebalance, which waits for nothing here.
type fencer struct {
	group     string
	id        string
	published []byte
	timeout   time.Duration
	cluster   client.Config
	log       *slog.Logger

	mu    sync.Mutex
	inbox []fence.Input
	rings chan struct{}

	life  context.Context
	end   context.CancelFunc
	owned sync.WaitGroup
}

// newFencer chooses the id: that of the user, or of InstanceID, or a random one. The timeout is that of the group's transactions. It does nothing
// before start.
func newFencer(c consumer.Config, transactionalID string, timeout time.Duration, log *slog.Logger) *fencer {
	f := &fencer{group: c.Group, id: transactionalID, timeout: timeout, cluster: c.Cluster, log: log, rings: make(chan struct{}, 1)}
	switch {
	case f.id != "":
	case c.InstanceID != "":
		f.id = fence.Named(c.Group, c.InstanceID)
	default:
		f.published = make([]byte, fence.Secret)
		_, _ = rand.Read(f.published) // never fails
		f.id = fence.Name(c.Group, f.published)
	}
	if f.published == nil {
		f.published = fence.Publish(c.Group, f.id)
	}
	f.life, f.end = context.WithCancel(context.Background())
	return f
}

// start has it fence, until Close.
func (f *fencer) start() { f.owned.Go(f.run) }

// ID is the transactional id.
func (f *fencer) ID() string { return f.id }

// Consumer has the id published, and listens to what others publish.
func (f *fencer) Consumer(c consumer.Config) consumer.Config {
	users := c.Hooks.Roster
	c.Publish = f.published
	c.Hooks.Roster = func(r consumer.Roster) {
		f.post(f.roster(r))
		if users != nil {
			users(r)
		}
	}
	return c
}

// Close ends it, and waits. Who is not fenced by then is left to the broker.
func (f *fencer) Close() {
	f.end()
	f.owned.Wait()
}

// roster is who is there, and who is not. A static member that is there lives, even if it is one of an earlier program, which publishes
// nothing, with the id of one that did.
func (f *fencer) roster(r consumer.Roster) fence.Roster {
	in := fence.Roster{Present: f.names(r.Present), Missing: f.names(r.Missing)}
	for _, instance := range r.Instances {
		in.Present = append(in.Present, fence.Named(f.group, instance))
	}
	return in
}

// names are the transactional ids of who publishes this. What else members of the group may publish is nobody's.
func (f *fencer) names(published [][]byte) (ids []string) {
	for _, p := range published {
		if id := fence.Name(f.group, p); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// post leaves an input for run. It waits for nothing: the consumer's own goroutine may be the one that calls.
func (f *fencer) post(in fence.Input) {
	f.mu.Lock()
	f.inbox = append(f.inbox, in)
	f.mu.Unlock()
	select {
	case f.rings <- struct{}{}:
	default:
	}
}

func (f *fencer) take() (in []fence.Input) {
	f.mu.Lock()
	defer f.mu.Unlock()
	in, f.inbox = f.inbox, nil
	return in
}

// run is the goroutine that owns the machine.
func (f *fencer) run() {
	m := fence.New(fence.Config{Self: f.id, Patience: f.timeout})
	var a attempts
	defer a.close()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-f.life.Done():
			return
		case <-timer.C:
			f.does(&a, timer, m.Tick(time.Now()))
		case <-f.rings:
			for _, in := range f.take() {
				f.does(&a, timer, m.Step(time.Now(), in))
			}
		}
	}
}

// attempts are what is under way. The client is made for the first of them: a group that loses nobody needs none.
type attempts struct {
	kafka *kgo.Client
	under sync.WaitGroup
}

func (a *attempts) close() {
	a.under.Wait()
	if a.kafka != nil {
		a.kafka.Close()
	}
}

func (a *attempts) client(f *fencer) (*kgo.Client, error) {
	if a.kafka != nil {
		return a.kafka, nil
	}
	opts := append([]kgo.Opt{kgo.MaxVersions(kversion.Stable())}, f.cluster.KgoOptions()...)
	var err error
	a.kafka, err = kgo.NewClient(opts...)
	return a.kafka, err
}

// does carries an output out.
func (f *fencer) does(a *attempts, timer *time.Timer, out fence.Output) {
	timer.Stop()
	if !out.Wake.IsZero() {
		timer.Reset(time.Until(out.Wake))
	}
	for _, t := range out.Done {
		f.log.Info("the producer of a member that is gone is fenced", "group", f.group, "transactional id", t.ID, "took", t.Took)
	}
	for _, t := range out.GaveUp {
		f.log.Warn("the producer of a member that is gone could not be fenced: what it has left open, if anything, ends by its timeout",
			"group", f.group, "transactional id", t.ID, "tried for", t.Took)
	}
	for _, id := range out.Fence {
		kafka, err := a.client(f)
		if err != nil {
			f.log.Error("setting up the Kafka client that fences", "error", err)
			f.post(fence.Answered{ID: id, Answer: fence.Refused})
			continue
		}
		a.under.Go(func() { f.post(fence.Answered{ID: id, Answer: f.attempt(kafka, id)}) })
	}
}

// attempt asks for a producer of that id, which nobody uses: its coordinator aborts what the last one has left open, and refuses it from then on.
func (f *fencer) attempt(kafka *kgo.Client, id string) fence.Answer {
	ctx, cancel := context.WithTimeout(f.life, f.timeout)
	defer cancel()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &id, int32(f.timeout.Milliseconds())
	resp, err := req.RequestWith(ctx, kafka)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	answer := fence.AnswerOf(err)
	if answer == fence.Refused {
		f.log.Warn("fencing the producer of a member that is gone was refused"+hint(err), "group", f.group, "transactional id", id, "error", err)
	}
	return answer
}

func hint(err error) string {
	if err == kerr.TransactionalIDAuthorizationFailed || err == kerr.ClusterAuthorizationFailed {
		return ": allow WRITE on transactional ids that begin with the group's name and '-'"
	}
	return ""
}
