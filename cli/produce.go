package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/cli/internal/connect"
	"github.com/skeinstream/skein/cli/internal/problem"
)

// interruptFlush is how long an interrupted produce waits for what it has
// already sent.
const interruptFlush = 5 * time.Second

func newProduce(a *app) *cobra.Command {
	var p produceFlags
	cmd := &cobra.Command{
		Use:   "produce TOPIC [FILE…]",
		Short: "Send records from lines, JSON lines or frames",
		Long: `Send one record for each line of the files, or of standard input when there are
none (or where a file is called -).

Lines (the default) are values; --key-separator splits a key off. An empty line
is an empty value, and nothing is trimmed. --null gives a text that stands for
null, which as a value is a tombstone.

JSON lines (--input json) carry everything, and are what consume --json prints:

  {"key":"k","value":"v","headers":[{"key":"h","value":"x"}],"partition":0,"timestamp":1700000000000}

"value" must be there, null is a tombstone. Bytes that are no text come as
"key_base64" and "value_base64". A value that is an object, array, number or
boolean is sent as its JSON text.

Frames (--input framed) are the key and the value, each after its length as a
32-bit big-endian number, -1 for null; --input framed-values has values only.`,
		Example: `echo "hello, world" | skein produce greetings
skein produce orders --key-separator : --codec zstd orders.txt
skein produce orders --each --json --rate 100 < orders.txt
skein produce orders --input json <<< '{"key": "7", "value": {"total": 12}}'
printf 'gone:NULL\n' | skein produce orders --key-separator : --null NULL
skein consume orders --exit-at-end --json | skein produce copy --input json`,
		Args: someArgs("the name of a topic"),
	}
	p.register(cmd)
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return a.completeTopics(flags)(cmd, args, toComplete)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.run(cmd.Context(), a, flags, args[0], args[1:])
	}
	return cmd
}

func (p *produceFlags) run(ctx context.Context, a *app, flags *connect.Flags, topic string, files []string) error {
	plan, err := p.plan(topic)
	if err != nil {
		return err
	}
	if err := checkRate(p.rate); err != nil {
		return err
	}
	sources, closeAll, err := openSources(a.env.Stdin, files)
	if err != nil {
		return err
	}
	defer closeAll()
	cl, err := a.connect(ctx, flags, plan.options...)
	if err != nil {
		return err
	}
	defer cl.Close()
	if plan.partitions, err = p.checkTopic(ctx, cl, topic, a.env.Stderr); err != nil {
		return err
	}
	cl.AnnounceOutages(a.env.Stderr)
	s := &sender{cl: cl.Client, plan: plan, progress: a.newProgress(plan.verb()), each: newEachWriter(a, p.each), pace: pace{rate: p.rate}}
	err = s.sendAll(ctx, sources)
	s.progress.end()
	return s.conclude(a, cl, err, p.quiet)
}

// checkTopic tells of a missing topic or partition before anything is read,
// and counts the partitions (0: the topic may have to be created first).
func (p *produceFlags) checkTopic(ctx context.Context, cl *connect.Client, topic string, notices io.Writer) (partitions int, err error) {
	if p.autoCreate {
		return 0, nil
	}
	err = cl.Admin(ctx, func(ctx context.Context, admin *kadm.Client) error {
		topics, err := admin.ListTopicsWithInternal(ctx, topic)
		if err != nil {
			return fmt.Errorf("looking up topic %s: %w", topic, err)
		}
		switch err := topics[topic].Err; {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			return missingTopic(ctx, admin, topic, createIt(topic))
		case err != nil:
			return refusal("produce to", topic, err, "", "")
		}
		partitions = len(topics[topic].Partitions)
		for _, d := range topics[topic].Partitions.Sorted() {
			if d.Leader < 0 {
				fmt.Fprintf(notices, "skein: topic %s has no leader for partition %d: what goes there has to wait\n", topic, d.Partition)
			}
		}
		return nil
	})
	if err == nil && int(p.partition) >= partitions {
		err = problem.Usage("", "%w", noPartition(topic, p.partition, partitions))
	}
	return partitions, err
}

func noPartition(topic string, partition int32, partitions int) error {
	return fmt.Errorf("topic %s has no partition %d: it has %s, counted from 0", topic, partition, count(partitions, "partition"))
}

// source is one input.
type source struct {
	name string // for messages; empty for standard input
	r    io.Reader
}

func openSources(stdin io.Reader, files []string) ([]source, func(), error) {
	var opened []io.Closer
	closeAll := func() {
		for _, c := range opened {
			c.Close()
		}
	}
	if len(files) == 0 {
		return []source{{r: stdin}}, closeAll, nil
	}
	var sources []source
	for _, name := range files {
		if name == "-" {
			sources = append(sources, source{r: stdin})
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			closeAll()
			return nil, nil, problem.Usage("", "reading the input: %w", err)
		}
		opened = append(opened, f)
		sources = append(sources, source{name: name, r: f})
	}
	return sources, closeAll, nil
}

// place names a line, or a record where there are no lines, for people.
func (s source) place(unit string, number int) string {
	if s.name == "" {
		return fmt.Sprintf("%s %d", unit, number)
	}
	return fmt.Sprintf("%s, %s %d", s.name, unit, number)
}

// produceSummary is the result of produce.
type produceSummary struct {
	Topic   string         `json:"topic"`
	Records int64          `json:"records"` // acknowledged
	Bytes   int64          `json:"bytes"`   // of their keys, values and headers
	Seconds float64        `json:"seconds"`
	Failed  *produceFailed `json:"failed,omitempty"`
}

type produceFailed struct {
	File  string `json:"file,omitempty"`
	Line  int    `json:"line"`
	Error string `json:"error"`
}

// conclude prints the summary and turns the first failure into the command's.
func (s *sender) conclude(a *app, cl *connect.Client, err error, quiet bool) error {
	p := s.progress
	summary := produceSummary{Topic: s.plan.topic, Records: p.records.Load(), Bytes: p.bytes.Load(), Seconds: p.seconds()}
	failed := s.failure()
	if failed != nil {
		summary.Failed = &produceFailed{failed.source.name, failed.line, failed.err.Error()}
	}
	err = errors.Join(err, s.each.err())
	if s.each != nil && a.json {
		err = errors.Join(err, a.encodeLine(a.env.Stdout, summaryLine{"summary", summary}))
	} else if a.json || !quiet && failed == nil && err == nil {
		err = errors.Join(err, a.print(summary, func(w io.Writer) {
			fmt.Fprintf(w, "%s to %s %s, %s in %v\n", count(summary.Records, "record"), summary.Topic, s.plan.verb(), bytesText(summary.Bytes), p.took())
		}))
	}
	if failed != nil {
		return s.explain(cl, failed, summary.Records)
	}
	if err != nil {
		fmt.Fprintf(a.env.Stderr, "skein: stopped: %s %s\n", count(summary.Records, "record"), s.plan.verb())
	}
	return err
}

func (s *sender) explain(cl *connect.Client, f *failure, acknowledged int64) error {
	cause := cl.Explain(f.err)
	hint := problem.Hint(cause)
	switch {
	case errors.Is(cause, kerr.MessageTooLarge):
		hint = "raise --max-message-bytes here and max.message.bytes of the topic (`skein topic alter`)"
	case errors.Is(cause, errSilence):
		hint = fmt.Sprintf("nothing was acknowledged for %v (--delivery-timeout waits longer); records on their way may still have been written", s.plan.patience)
	}
	if hint != "" {
		hint += "\n"
	}
	return &problem.Error{
		What: fmt.Sprintf("%s: %s", f.source.place(s.plan.unit, f.line), reasonText(cause)),
		Hint: hint + fmt.Sprintf("%s %s in all", count(acknowledged, "record"), s.plan.verb()),
		Code: problem.ExitFailure, Err: f.err,
	}
}
