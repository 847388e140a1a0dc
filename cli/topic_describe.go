package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type describedTopic struct {
	Topic      string               `json:"topic"`
	ID         string               `json:"id,omitempty"`
	Internal   bool                 `json:"internal,omitempty"`
	Partitions []describedPartition `json:"partitions"`
	Configs    []describedConfig    `json:"configs"`
}

type describedPartition struct {
	Partition   int32   `json:"partition"`
	Leader      int32   `json:"leader"` // -1: none
	LeaderEpoch int32   `json:"leader_epoch"`
	Replicas    []int32 `json:"replicas"`
	ISR         []int32 `json:"isr"`
	Start       *int64  `json:"start_offset"` // null: not known
	End         *int64  `json:"end_offset"`
	Size        *int64  `json:"size_bytes"` // on the leader's disk
	Error       string  `json:"error,omitempty"`
}

type describedConfig struct {
	Name   string  `json:"name"`
	Value  *string `json:"value"` // null: none, or secret
	Source string  `json:"source"`
}

func newTopicDescribe(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "describe TOPIC…",
		Short: "Show partitions, leaders, offsets, sizes and settings",
		Args:  someArgs("the name of a topic"),
	}
	cmd.Flags().BoolVar(&all, "all-settings", false, "show the settings that have their default too")
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = a.completeTopics(flags)
	cmd.RunE = func(cmd *cobra.Command, topics []string) error {
		return a.admin(cmd.Context(), flags, func(ctx context.Context, admin *kadm.Client) error {
			described, failures, err := describeTopics(ctx, admin, topics, all)
			if err != nil {
				return err
			}
			err = a.print(described, func(w io.Writer) { describedText(w, described) })
			return errors.Join(append(failures, err)...)
		})
	}
	return cmd
}

// describeTopics gathers what several requests tell. What only some brokers
// answer (offsets, sizes) is left unknown where it is missing; failures are
// topics that cannot be described at all.
func describeTopics(ctx context.Context, admin *kadm.Client, topics []string, all bool) (list []describedTopic, failures []error, err error) {
	details, err := admin.ListTopicsWithInternal(ctx, topics...)
	if err != nil {
		return nil, nil, fmt.Errorf("describing topics: %w", err)
	}
	facts, err := gatherFacts(ctx, admin, details)
	if err != nil {
		return nil, nil, err
	}
	list = []describedTopic{}
	for _, topic := range topics {
		d := details[topic]
		switch {
		case errors.Is(d.Err, kerr.UnknownTopicOrPartition):
			failures = append(failures, missingTopic(ctx, admin, topic, createIt(topic)))
		case d.Err != nil:
			failures = append(failures, refusal("describe", topic, d.Err, "", ""))
		default:
			list = append(list, facts.describe(d, all))
		}
	}
	return list, failures, nil
}

type topicFacts struct {
	start, end kadm.ListedOffsets
	sizes      kadm.DescribedAllLogDirs
	configs    kadm.ResourceConfigs
}

func gatherFacts(ctx context.Context, admin *kadm.Client, details kadm.TopicDetails) (facts topicFacts, err error) {
	var known []string
	for _, d := range details.Sorted() {
		if d.Err == nil {
			known = append(known, d.Topic)
		}
	}
	if len(known) == 0 {
		return facts, nil
	}
	if facts.configs, err = admin.DescribeTopicConfigs(ctx, known...); err != nil {
		return facts, fmt.Errorf("describing the settings of topics: %w", err)
	}
	// The rest is asked of every broker; one that is away leaves gaps.
	if facts.start, err = admin.ListStartOffsets(ctx, known...); err != nil && !partly(err) {
		return facts, fmt.Errorf("listing first offsets: %w", err)
	}
	if facts.end, err = admin.ListEndOffsets(ctx, known...); err != nil && !partly(err) {
		return facts, fmt.Errorf("listing last offsets: %w", err)
	}
	facts.sizes, _ = admin.DescribeAllLogDirs(ctx, details.TopicsSet())
	return facts, nil
}

// partly says that what is missing may be left out: some brokers answered and
// others did not, or partitions have no leader who could.
func partly(err error) bool {
	shards, ok := errors.AsType[*kadm.ShardErrors](err)
	if !ok {
		return false
	}
	return !shards.AllFailed || !slices.ContainsFunc(shards.Errs, func(e kadm.ShardError) bool {
		return !errors.Is(e.Err, kerr.LeaderNotAvailable)
	})
}

func (f topicFacts) describe(d kadm.TopicDetail, all bool) describedTopic {
	out := describedTopic{Topic: d.Topic, Internal: d.IsInternal, Partitions: []describedPartition{}, Configs: []describedConfig{}}
	if d.ID != (kadm.TopicID{}) {
		out.ID = base64.RawURLEncoding.EncodeToString(d.ID[:]) // as Kafka writes it
	}
	for _, p := range d.Partitions.Sorted() {
		out.Partitions = append(out.Partitions, f.partition(p))
	}
	configs, _ := f.configs.On(d.Topic, nil)
	for _, c := range configs.Configs {
		if all || c.Source != kmsg.ConfigSourceDefaultConfig {
			out.Configs = append(out.Configs, describedConfig{c.Key, c.Value, sourceText(c.Source)})
		}
	}
	return out
}

func (f topicFacts) partition(p kadm.PartitionDetail) describedPartition {
	out := describedPartition{
		Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, ISR: p.ISR,
		Start: known(f.start, p), End: known(f.end, p),
	}
	if p.Err != nil {
		out.Error = reasonText(p.Err)
	}
	f.sizes[p.Leader].EachPartition(func(d kadm.DescribedLogDirPartition) {
		if d.Topic == p.Topic && d.Partition == p.Partition && !d.IsFuture {
			out.Size = &d.Size
		}
	})
	return out
}

func known(offsets kadm.ListedOffsets, p kadm.PartitionDetail) *int64 {
	o, ok := offsets.Lookup(p.Topic, p.Partition)
	if !ok || o.Err != nil || o.Offset < 0 {
		return nil
	}
	return &o.Offset
}

func sourceText(s kmsg.ConfigSource) string {
	switch s {
	case kmsg.ConfigSourceDynamicTopicConfig:
		return "topic"
	case kmsg.ConfigSourceDynamicBrokerConfig, kmsg.ConfigSourceDynamicDefaultBrokerConfig:
		return "broker, changed while running"
	case kmsg.ConfigSourceStaticBrokerConfig:
		return "broker"
	case kmsg.ConfigSourceDefaultConfig:
		return "default"
	}
	return s.String()
}

func describedText(w io.Writer, topics []describedTopic) {
	for i, t := range topics {
		if i > 0 {
			fmt.Fprintln(w)
		}
		t.text(w)
	}
}

func (t describedTopic) text(w io.Writer) {
	records, size := t.totals()
	fmt.Fprintf(w, "Topic:       %s\n", t.Topic)
	if t.ID != "" {
		fmt.Fprintf(w, "ID:          %s\n", t.ID)
	}
	fmt.Fprintf(w, "Partitions:  %d\nOffsets:     %d held\nSize:        %s\n", len(t.Partitions), records, bytesText(size))
	for i, c := range t.Configs {
		label := ""
		if i == 0 {
			label = "Settings:"
		}
		value := "(not shown)"
		if c.Value != nil {
			value = *c.Value
		}
		fmt.Fprintf(w, "%-12s %s=%s  (%s)\n", label, c.Name, value, c.Source)
	}
	fmt.Fprintln(w)
	table := newTable(w, "PARTITION", "LEADER", "EPOCH", "REPLICAS", "ISR", "START", "END", "SIZE")
	for _, p := range t.Partitions {
		table.row(p.Partition, leaderText(p.Leader), p.LeaderEpoch, joinInts(p.Replicas), joinInts(p.ISR), offsetText(p.Start), offsetText(p.End), sizeText(p.Size), p.Error)
	}
	table.flush()
}

// totals sums what is known. Offsets held are an upper bound of records:
// compaction and transaction markers use offsets up.
func (t describedTopic) totals() (offsets, size int64) {
	for _, p := range t.Partitions {
		if p.Start != nil && p.End != nil {
			offsets += *p.End - *p.Start
		}
		if p.Size != nil {
			size += *p.Size
		}
	}
	return offsets, size
}

func leaderText(id int32) string {
	if id < 0 {
		return "none"
	}
	return fmt.Sprint(id)
}

func sizeText(size *int64) string {
	if size == nil {
		return "-"
	}
	return bytesText(*size)
}
