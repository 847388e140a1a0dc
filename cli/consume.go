package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/cli/internal/connect"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/recordtext"
)

type consumeFlags struct {
	from, format, output, null, isolation string
	formatGiven, countGiven               bool
	partitions                            []int32
	exitAtEnd                             bool
	count                                 int64
	member                                groupFlags
}

const (
	outputText = "text"

	readCommitted   = "read_committed"
	readUncommitted = "read_uncommitted"
)

func newConsume(a *app) *cobra.Command {
	var c consumeFlags
	cmd := &cobra.Command{
		Use:   "consume TOPIC…",
		Short: "Print records, and follow new ones",
		Long: `Print the records of topics, from the beginning unless --from says otherwise, and
follow what is added until interrupted, or until --exit-at-end or --count says
that it is enough. Partitions are read directly, without a consumer group:
nothing is committed, and consuming twice prints twice.

With --group it is a member of a consumer group: it shares the partitions with
the others, begins where the group is, and commits what it has printed, every
five seconds, before it gives partitions up, and at the end. An interrupt or
SIGTERM is the ordinary end of a member: it commits, leaves, and exits with 0.
With --json, events of the group are lines between the records, which say what
happened in "event": joined, completed, assigned, revoked, lost, committed …
--exit-at-end waits until the whole group has come to the ends.

--from takes
  beginning, end      of each partition
  1234                an offset
  -10                 the last ten records of each partition
  -15m, -1h30m        what was added since so long ago
  2026-11-30T12:00:00Z, @1700000000000
                      a time in RFC 3339 (the time of day may be missing) or in milliseconds

--format takes
` + indent(recordtext.FormatVerbs),
		Example: `skein consume greetings --exit-at-end
skein consume orders --from -10 --format '%p/%o %I %k: %v\n'
skein consume orders --from end --json | jq .value
skein consume images --output framed --exit-at-end > images.bin
skein consume orders --group billing --json
skein consume orders --group billing --instance-id billing-1 --assignors cooperative-sticky,range`,
		Args: someArgs("the name of a topic"),
	}
	c.register(cmd)
	c.member.register(cmd)
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = a.completeTopics(flags)
	cmd.RunE = func(cmd *cobra.Command, topics []string) error {
		return c.run(cmd.Context(), a, flags, topics)
	}
	return cmd
}

func (c *consumeFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&c.from, "from", "o", "beginning", "`WHERE` where to start: beginning, end, an offset, -N, a time or an age (see above)")
	f.Int32SliceVarP(&c.partitions, "partition", "p", nil, "`N,…` the partitions to read instead of all")
	f.BoolVarP(&c.exitAtEnd, "exit-at-end", "e", false, "stop at what was the end of each partition when the command began")
	f.Int64VarP(&c.count, "count", "n", 0, "`NUMBER` stop after so many records in all")
	f.StringVarP(&c.format, "format", "f", `%v\n`, "`TEXT` what to print for each record (see above)")
	f.StringVar(&c.output, "output", outputText, "`FORM` form of the output: text (see --format), json (as --json), framed or framed-values (as produce --input)")
	f.StringVar(&c.null, "null", "", "`TEXT` what to print for null keys and values")
	f.StringVar(&c.isolation, "isolation", readCommitted, "`LEVEL` read_committed leaves out aborted and open transactions, read_uncommitted shows them")
	_ = cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions([]string{"beginning", "end"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{outputText, inputJSON, inputFramed, inputFramedValues}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("isolation", cobra.FixedCompletions([]string{readCommitted, readUncommitted}, cobra.ShellCompDirectiveNoFileComp))
	cmd.PreRun = func(cmd *cobra.Command, _ []string) {
		c.formatGiven, c.countGiven = f.Changed("format"), f.Changed("count")
	}
}

func (c *consumeFlags) run(ctx context.Context, a *app, flags *connect.Flags, topics []string) error {
	if c.countGiven && c.count < 1 {
		return problem.Usage("it must be at least 1; without it there is no limit", "--count %d is no number of records", c.count)
	}
	from, err := parseFrom(c.from, a.env.Now())
	if err != nil {
		return err
	}
	write, err := c.writer(a.json)
	if err != nil {
		return err
	}
	level, err := c.level()
	if err != nil {
		return err
	}
	if err := c.member.check(c, from); err != nil {
		return err
	}
	if c.member.group != "" {
		return c.runGroup(ctx, a, flags, topics, consumePlan{from, write, level})
	}
	return c.runAlone(ctx, a, flags, topics, consumePlan{from, write, level})
}

// runAlone reads partitions directly.
func (c *consumeFlags) runAlone(ctx context.Context, a *app, flags *connect.Flags, topics []string, plan consumePlan) error {
	cl, err := a.connect(ctx, flags, consumeOptions(plan.level, c.exitAtEnd)...)
	if err != nil {
		return err
	}
	defer cl.Close()
	var spans spans
	err = cl.Admin(ctx, func(ctx context.Context, admin *kadm.Client) error {
		spans, err = findSpans(ctx, admin, topics, c.partitions, plan.from, plan.level, a.env.Stderr)
		return err
	})
	if err != nil {
		return err
	}
	cl.AnnounceOutages(a.env.Stderr)
	r := &reader{
		cl: cl, out: bufio.NewWriterSize(a.env.Stdout, 256<<10), write: plan.write, level: plan.level, left: c.count,
		notices: a.env.Stderr, now: a.env.Now, waiting: map[place]time.Time{},
	}
	if c.exitAtEnd {
		r.ends = spans.ends()
		spans.dropEmpty()
	}
	r.positions = spans.starts()
	return r.run(ctx)
}

func consumeOptions(level kgo.IsolationLevel, exitAtEnd bool) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.FetchIsolationLevel(level),
		kgo.FetchMaxWait(500 * time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{}),
	}
	if exitAtEnd { // the last record may be a transaction's marker
		opts = append(opts, kgo.KeepControlRecords())
	}
	return opts
}

func (c *consumeFlags) level() (kgo.IsolationLevel, error) {
	switch strings.ReplaceAll(c.isolation, "-", "_") {
	case readCommitted:
		return kgo.ReadCommitted(), nil
	case readUncommitted:
		return kgo.ReadUncommitted(), nil
	}
	return kgo.IsolationLevel{}, problem.Usage("choose read_committed or read_uncommitted", "--isolation %q is not a level", c.isolation)
}

func (c *consumeFlags) writer(json bool) (recordtext.Writer, error) {
	output := c.output
	if json {
		output = inputJSON
	}
	if output != outputText && c.formatGiven {
		return nil, problem.Usage("drop one of them", "--format is about text, not %s", output)
	}
	switch output {
	case inputJSON:
		return recordtext.AppendJSON, nil
	case inputFramed:
		return recordtext.AppendFramed, nil
	case inputFramedValues:
		return recordtext.AppendFramedValue, nil
	case outputText:
		w, err := recordtext.ParseFormat(c.format, []byte(c.null))
		if err != nil {
			return nil, problem.Usage("`skein consume --help` lists the verbs", "--format: %w", err)
		}
		return w, nil
	}
	return nil, problem.Usage("choose text, json, framed or framed-values", "--output %q is not a form", output)
}

// reader prints what it polls.
type reader struct {
	cl        *connect.Client
	out       *bufio.Writer
	write     recordtext.Writer
	level     kgo.IsolationLevel
	left      int64   // records still to print; 0 means no limit
	ends      offsets // partitions that have not reached their end yet; nil follows for ever
	positions offsets // next offset of each partition that is read
	buf       []byte  // scratch for one record

	notices io.Writer
	now     func() time.Time
	waiting map[place]time.Time // since when a partition answers with nothing but errors
}

// errEnough ends reading in good order.
var errEnough = errors.New("everything asked for is printed")

func (r *reader) run(ctx context.Context) error {
	if r.ends != nil && len(r.positions) == 0 {
		return nil
	}
	r.cl.AddConsumePartitions(r.positions.kgo())
	for {
		err := r.poll(ctx)
		if flushErr := r.out.Flush(); flushErr != nil {
			return fmt.Errorf("writing the output: %w", flushErr)
		}
		if err == errEnough {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// poll prints one batch of fetches. With an end to reach it does not wait
// longer than a moment, and then looks whether the end is a hole.
func (r *reader) poll(ctx context.Context) error {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if r.ends != nil {
		waiting, cancel = context.WithTimeout(ctx, holeAfter)
	}
	fetches := r.cl.PollFetches(waiting)
	cancel()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var err error
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if err == nil {
			err = r.partition(p)
		}
	})
	if err == nil { // what was read before a failure is printed
		err = r.failure(fetches)
	}
	if err == nil && fetches.NumRecords() == 0 && r.ends != nil {
		err = r.skipHoles(ctx)
	}
	if err == nil && r.ends != nil && len(r.ends) == 0 {
		err = errEnough
	}
	return err
}

// failure picks the error that ends consuming, if there is one.
func (r *reader) failure(fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		if errors.Is(e.Err, context.DeadlineExceeded) && e.Topic == "" {
			continue
		}
		if e.Topic == "" {
			return r.cl.Explain(e.Err)
		}
		return r.problem(place{e.Topic, e.Partition}, e.Err)
	}
	return nil
}

func (r *reader) partition(p kgo.FetchTopicPartition) error {
	at := place{p.Topic, p.Partition}
	end, ending := r.ends[at]
	if len(p.Records) > 0 {
		delete(r.waiting, at)
	}
	for _, record := range p.Records {
		if r.ends != nil && (!ending || record.Offset >= end) {
			break
		}
		r.positions[at] = record.Offset + 1
		if record.Attrs.IsControl() {
			continue
		}
		r.buf = r.write(r.buf[:0], record)
		if _, err := r.out.Write(r.buf); err != nil {
			return fmt.Errorf("writing the output: %w", err)
		}
		if r.left--; r.left == 0 {
			return errEnough
		}
	}
	if n := len(p.Records); ending && n > 0 && p.Records[n-1].Offset+1 >= end {
		r.finish(at)
	}
	return nil
}

// finish stops reading a partition that has reached its end.
func (r *reader) finish(at place) {
	delete(r.ends, at)
	r.cl.RemoveConsumePartitions(map[string][]int32{at.topic: {at.partition}})
}

// problem is what stands in the way of reading on.
func (r *reader) problem(at place, err error) error {
	cause := r.cl.Explain(err)
	hint := problem.Hint(cause)
	_, lost := errors.AsType[*kgo.ErrDataLoss](err)
	switch {
	case lost:
		hint = "the broker lost records, or the topic was deleted and created again; start again"
	case isDamage(err):
		hint = "the log is damaged there: a Skein broker's is examined with `skein log repair` when it is stopped; --from with a later offset reads on"
	}
	return &problem.Error{
		What: fmt.Sprintf("cannot read topic %s partition %d at offset %d: %s", at.topic, at.partition, r.positions[at], reasonText(cause)),
		Hint: hint, Err: cause,
	}
}

// isDamage says whether a broker cannot read its log, or has read what cannot
// be right. The client has no name for the latter.
func isDamage(err error) bool {
	return errors.Is(err, kerr.KafkaStorageError) || errors.Is(err, kerr.CorruptMessage) || strings.Contains(err.Error(), "does not match calculated crc")
}
