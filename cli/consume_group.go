package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/cli/internal/connect"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/rebalance"
	"github.com/skeinstream/skein/cli/internal/recordtext"
	"github.com/skeinstream/skein/consumer"
)

// groupFlags are those of a member of a group.
type groupFlags struct {
	group, instance, rack       string
	assignors                   []string
	strict, static              bool
	session, heartbeat, maxPoll time.Duration
	commitEvery                 time.Duration
	given                       []string // flags that say something about a member
}

func (g *groupFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&g.group, "group", "g", "", "`NAME` of the group to read in, as a member: partitions are shared with the others, and offsets committed")
	f.StringSliceVar(&g.assignors, "assignors", nil, "`NAME,…` assignors to offer, the preferred one first (cooperative-sticky,range)")
	f.BoolVar(&g.strict, "strict-assignors", false, "fail in a group that runs none of these assignors, instead of offering what it runs")
	f.BoolVar(&g.static, "static-protocol", false, "keep one rebalance protocol for life, as Kafka's consumers do")
	f.StringVar(&g.instance, "instance-id", "", "`NAME` of a static member, which keeps its partitions over a restart (group.instance.id)")
	f.StringVar(&g.rack, "rack", "", "`NAME` of the rack: partitions with a replica in it are preferred")
	f.DurationVar(&g.session, "session-timeout", 0, "`TIME` without a heartbeat after which the group gives the member up (45s)")
	f.DurationVar(&g.heartbeat, "heartbeat-interval", 0, "`TIME` between heartbeats (3s, or a third of a session shorter than 9s)")
	f.DurationVar(&g.maxPoll, "max-poll-interval", 0, "`TIME` for which the group waits for the member in a rebalance (5m)")
	f.DurationVar(&g.commitEvery, "commit-interval", 0, "`TIME` between commits of what is printed (5s); it is committed before partitions are given up and at the end, too")
	about := []string{"assignors", "strict-assignors", "static-protocol", "instance-id", "rack", "session-timeout", "heartbeat-interval", "max-poll-interval", "commit-interval"}
	before := cmd.PreRun
	cmd.PreRun = func(cmd *cobra.Command, args []string) {
		before(cmd, args)
		for _, name := range about {
			if f.Changed(name) {
				g.given = append(g.given, name)
			}
		}
	}
	_ = cmd.RegisterFlagCompletionFunc("assignors", cobra.FixedCompletions(rebalance.AssignorNames(), cobra.ShellCompDirectiveNoFileComp))
}

// check refuses what makes no sense together.
func (g *groupFlags) check(c *consumeFlags, from from) error {
	switch {
	case g.group == "" && len(g.given) > 0:
		return problem.Usage("add --group NAME", "--%s is about a member of a group", g.given[0])
	case g.group == "":
		return nil
	case len(c.partitions) > 0:
		return problem.Usage("drop one of them", "--partition chooses partitions, and in a group (--group) the group does")
	case from.kind == fromOffset || from.kind == fromLast:
		return problem.Usage("say beginning, end, a time or an age: it is for partitions of which the group has no offset; `skein group reset-offsets` moves those it has",
			"--from %s cannot be said of a group", c.from)
	}
	return nil
}

// chosen are the assignors by their names; none is the consumer's own list.
func (g *groupFlags) chosen() (out []assign.Assignor, err error) {
	for _, name := range g.assignors {
		a, known := rebalance.Assignor(name, assign.Options{})
		if !known {
			hint := problem.DidYouMean(name, rebalance.AssignorNames())
			if hint == "" {
				hint = fmt.Sprintf("--assignors takes: %v", rebalance.AssignorNames())
			}
			return nil, problem.Usage(hint, "there is no assignor %q", name)
		}
		out = append(out, a)
	}
	return out, nil
}

// policy is where to begin without a committed offset.
func (f from) policy(now time.Time) consumer.Reset {
	switch f.kind {
	case fromEnd:
		return consumer.Latest
	case fromTime:
		return consumer.ByDuration(max(now.Sub(time.UnixMilli(f.number)), 0))
	}
	return consumer.Earliest
}

// config is the member that the flags describe.
func (g *groupFlags) config(cl *connect.Client, level kgo.IsolationLevel, reset consumer.Reset) (consumer.Config, error) {
	assignors, err := g.chosen()
	if err != nil {
		return consumer.Config{}, err
	}
	return consumer.Config{
		Cluster: cl.Config(), Group: g.group, InstanceID: g.instance, Rack: g.rack,
		Assignors: assignors, StrictAssignors: g.strict, StaticProtocol: g.static,
		SessionTimeout: g.session, HeartbeatInterval: g.heartbeat, PollInterval: g.maxPoll, AutoCommitInterval: g.commitEvery,
		ReadCommitted: level == kgo.ReadCommitted(), Reset: reset,
	}, nil
}

// runGroup reads as a member of a group until enough is printed, an interrupt or an error that ends the membership.
func (c *consumeFlags) runGroup(ctx context.Context, a *app, flags *connect.Flags, topics []string, plan consumePlan) error {
	cl, err := a.connect(ctx, flags)
	if err != nil {
		return err
	}
	defer cl.Close()
	m := &member{
		cl: cl, group: c.member.group, topics: topics, left: c.count, level: plan.level,
		out: newEventWriter(a, plan.write, bufio.NewWriterSize(a.env.Stdout, 256<<10), c.member.group),
	}
	if m.goal, err = c.goal(ctx, a, cl, topics, plan.level); err != nil {
		return err
	}
	cfg, err := c.member.config(cl, plan.level, plan.from.policy(a.env.Now()))
	if err != nil {
		return err
	}
	cfg.Listener, cfg.Hooks = m.out.listener(), m.out.hooks()
	if m.consumer, err = consumer.New(cfg); err != nil {
		return problem.Usage("`skein consume --help` lists the flags", "%w", err)
	}
	cl.AnnounceOutages(a.env.Stderr)
	return m.run(ctx)
}

// consumePlan is what the flags of both ways of reading say.
type consumePlan struct {
	from  from
	write recordtext.Writer
	level kgo.IsolationLevel
}

// member reads as one.
type member struct {
	cl       *connect.Client
	consumer *consumer.Consumer
	out      *eventWriter
	group    string
	topics   []string
	level    kgo.IsolationLevel
	left     int64 // records still to print; 0 means no limit
	enough   bool  // that many are printed
	goal     *goal // what the group is to reach; nil follows for ever
}

const (
	lookAtGoal    = time.Second      // how often, while nothing comes
	closePatience = 30 * time.Second // that an end takes at most
)

// run polls until the end. An interrupt is how a member is stopped, and so no failure: it commits, leaves and is done.
func (m *member) run(ctx context.Context) error {
	printing := m.out.start()
	err := m.consumer.Subscribe(m.topics...)
	for err == nil {
		err = m.poll(ctx)
	}
	if errors.Is(err, errEnough) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
	defer cancel()
	closed := m.consumer.Close(closing)
	printing.stop()
	switch {
	case err != nil:
		return m.explain(closing, err)
	case closed != nil:
		return m.explain(closing, closed)
	}
	return m.out.closed()
}

// poll prints one batch. What is printed is done with: the next poll, and the end, commit it.
func (m *member) poll(ctx context.Context) error {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if m.goal != nil {
		waiting, cancel = context.WithTimeout(ctx, lookAtGoal)
	}
	batch, err := m.consumer.Poll(waiting)
	cancel()
	switch {
	case err != nil && ctx.Err() != nil: // a batch that comes with the signal is printed: the end commits it
		return ctx.Err()
	case err != nil && (m.goal == nil || !errors.Is(err, context.DeadlineExceeded)):
		return err
	}
	for _, p := range batch.Partitions {
		if err := m.print(p); err != nil {
			return err
		}
	}
	if err := m.out.flush(); err != nil {
		return err
	}
	if m.enough || m.goal != nil && m.goal.reached(ctx, m, batch.Len() == 0) {
		return errEnough
	}
	return nil
}

// print prints the records of a partition. Behind the last one that is wanted nothing is printed, and the position goes back to there, in
// every partition of the batch: no more is committed than was printed.
func (m *member) print(p consumer.PartitionBatch) error {
	for _, record := range p.Records {
		if m.enough {
			return m.consumer.Seek(p.TopicPartition, record.Offset)
		}
		if err := m.out.record(record); err != nil {
			return err
		}
		m.left--
		m.enough = m.left == 0
	}
	return nil
}
