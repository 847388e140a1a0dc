package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

type topicCreate struct {
	partitions  int32
	replication int16
	configs     []string
	ifNotExists bool
	dryRun      bool
}

// createdTopic is one line of the result.
type createdTopic struct {
	Topic             string `json:"topic"`
	Created           bool   `json:"created"`
	Partitions        int32  `json:"partitions,omitempty"`
	ReplicationFactor int16  `json:"replication_factor,omitempty"`
}

func newTopicCreate(a *app) *cobra.Command {
	var c topicCreate
	cmd := &cobra.Command{
		Use:   "create TOPIC…",
		Short: "Create topics",
		Example: `skein topic create greetings
skein topic create orders --partitions 6 --set retention.ms=3600000
skein topic create latest --set cleanup.policy=compact --if-not-exists`,
		Args:              someArgs("the name of a topic"),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := cmd.Flags()
	f.Int32VarP(&c.partitions, "partitions", "p", -1, "`NUMBER` number of partitions (default: the broker's)")
	f.Int16VarP(&c.replication, "replication-factor", "r", -1, "`NUMBER` copies of each partition (default: the broker's)")
	f.StringArrayVarP(&c.configs, "set", "s", nil, "`NAME=VALUE` topic setting; may be repeated")
	f.BoolVar(&c.ifNotExists, "if-not-exists", false, "succeed when the topic exists already")
	f.BoolVar(&c.dryRun, "dry-run", false, "let the broker check, create nothing")
	_ = cmd.RegisterFlagCompletionFunc("set", completeTopicSettings("="))
	flags := addConnection(cmd, a)
	cmd.RunE = func(cmd *cobra.Command, topics []string) error {
		configs, err := parseSettings(c.configs)
		if err != nil {
			return err
		}
		return a.admin(cmd.Context(), flags, func(ctx context.Context, admin *kadm.Client) error {
			return c.run(ctx, a, admin, configs, topics)
		})
	}
	return cmd
}

func (c topicCreate) run(ctx context.Context, a *app, admin *kadm.Client, configs map[string]*string, topics []string) error {
	create := admin.CreateTopics
	if c.dryRun {
		create = admin.ValidateCreateTopics
	}
	answers, err := create(ctx, c.partitions, c.replication, configs, topics...)
	if err != nil {
		return fmt.Errorf("creating topics: %w", err)
	}
	results, failures := []createdTopic{}, []error{}
	for _, topic := range topics {
		answer := answers[topic]
		switch {
		case answer.Err == nil:
			results = append(results, createdTopic{topic, !c.dryRun, answer.NumPartitions, answer.ReplicationFactor})
		case c.ifNotExists && errors.Is(answer.Err, kerr.TopicAlreadyExists):
			results = append(results, createdTopic{Topic: topic})
		default:
			hint := ""
			if errors.Is(answer.Err, kerr.InvalidConfig) {
				hint = settingsHint(slices.Sorted(maps.Keys(configs)))
			}
			failures = append(failures, refusal("create", topic, answer.Err, answer.ErrMessage, hint))
		}
	}
	err = a.print(results, func(w io.Writer) { c.text(w, results) })
	return errors.Join(append(failures, err)...)
}

func (c topicCreate) text(w io.Writer, results []createdTopic) {
	for _, r := range results {
		switch {
		case r.Created:
			fmt.Fprintf(w, "created topic %s: %s\n", r.Topic, shape(r.Partitions, r.ReplicationFactor))
		case c.dryRun && r.Partitions > 0:
			fmt.Fprintf(w, "would create topic %s: %s\n", r.Topic, shape(r.Partitions, r.ReplicationFactor))
		default:
			fmt.Fprintf(w, "topic %s exists already\n", r.Topic)
		}
	}
}

func shape(partitions int32, replication int16) string {
	return fmt.Sprintf("%s, replication factor %d", count(partitions, "partition"), replication)
}
