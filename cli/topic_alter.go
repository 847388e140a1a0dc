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

	"github.com/skeinstream/skein/cli/internal/problem"
)

type topicAlter struct {
	set        []string
	unset      []string
	partitions int
	dryRun     bool
}

// alteredTopic is the result; it lists what took effect, also when a later
// part failed.
type alteredTopic struct {
	Topic      string            `json:"topic"`
	Set        map[string]string `json:"set,omitempty"`
	Unset      []string          `json:"unset,omitempty"`
	Partitions int               `json:"partitions,omitempty"`
	DryRun     bool              `json:"dry_run,omitempty"`
}

func newTopicAlter(a *app) *cobra.Command {
	var t topicAlter
	cmd := &cobra.Command{
		Use:   "alter TOPIC",
		Short: "Change a topic's settings, or add partitions",
		Example: `skein topic alter orders --set retention.ms=86400000 --unset segment.bytes
skein topic alter orders --partitions 12`,
		Args: oneArg("the name of a topic"),
	}
	f := cmd.Flags()
	f.StringArrayVarP(&t.set, "set", "s", nil, "`NAME=VALUE` topic setting to set; may be repeated")
	f.StringSliceVar(&t.unset, "unset", nil, "`NAME` topic setting to give back to its default; may be repeated")
	f.IntVarP(&t.partitions, "partitions", "p", 0, "`NUMBER` partitions to have in the end; it can only grow, and keys move to other partitions")
	f.BoolVar(&t.dryRun, "dry-run", false, "let the broker check, change nothing")
	_ = cmd.RegisterFlagCompletionFunc("set", completeTopicSettings("="))
	_ = cmd.RegisterFlagCompletionFunc("unset", completeTopicSettings(""))
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = completeFirst(a.completeTopics(flags))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		changes, err := t.changes()
		if err != nil {
			return err
		}
		return a.admin(cmd.Context(), flags, func(ctx context.Context, admin *kadm.Client) error {
			return t.run(ctx, a, admin, args[0], changes)
		})
	}
	return cmd
}

func (t topicAlter) changes() ([]kadm.AlterConfig, error) {
	set, err := parseSettings(t.set)
	if err != nil {
		return nil, err
	}
	var changes []kadm.AlterConfig
	for _, name := range slices.Sorted(maps.Keys(set)) {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: set[name]})
	}
	for _, name := range t.unset {
		if set[name] != nil {
			return nil, problem.Usage("keep one of them", "%s is both set and unset", name)
		}
		changes = append(changes, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: name})
	}
	if len(changes) == 0 && t.partitions == 0 {
		return nil, problem.Usage("give --set, --unset or --partitions", "there is nothing to change")
	}
	return changes, nil
}

func (t topicAlter) run(ctx context.Context, a *app, admin *kadm.Client, topic string, changes []kadm.AlterConfig) error {
	done := alteredTopic{Topic: topic, DryRun: t.dryRun}
	err := t.alterConfigs(ctx, admin, &done, changes)
	if err == nil && t.partitions != 0 {
		err = t.addPartitions(ctx, admin, &done)
	}
	if len(done.Set)+len(done.Unset)+done.Partitions == 0 {
		return err
	}
	return errors.Join(err, a.print(done, done.text))
}

func (t topicAlter) alterConfigs(ctx context.Context, admin *kadm.Client, done *alteredTopic, changes []kadm.AlterConfig) error {
	if len(changes) == 0 {
		return nil
	}
	if err := t.knowsUnset(ctx, admin, done.Topic); err != nil {
		return err
	}
	alter := admin.AlterTopicConfigs
	if t.dryRun {
		alter = admin.ValidateAlterTopicConfigs
	}
	answers, err := alter(ctx, changes, done.Topic)
	if err != nil {
		return fmt.Errorf("altering topic %s: %w", done.Topic, err)
	}
	answer, err := answers.On(done.Topic, nil)
	if err = errors.Join(err, answer.Err); err != nil {
		return alterFailure(ctx, admin, done.Topic, err, answer.ErrMessage, changes)
	}
	done.Set = map[string]string{}
	for _, c := range changes {
		if c.Op == kadm.SetConfig {
			done.Set[c.Name] = *c.Value
		} else {
			done.Unset = append(done.Unset, c.Name)
		}
	}
	return nil
}

// knowsUnset looks whether the topic has what --unset names: brokers take
// anything there without a word. When they do not tell, altering will.
func (t topicAlter) knowsUnset(ctx context.Context, admin *kadm.Client, topic string) error {
	if len(t.unset) == 0 {
		return nil
	}
	described, err := admin.DescribeTopicConfigs(ctx, topic)
	configs, missing := described.On(topic, nil)
	if err != nil || missing != nil || configs.Err != nil {
		return nil
	}
	var known []string
	for _, c := range configs.Configs {
		known = append(known, c.Key)
	}
	for _, name := range t.unset {
		if !slices.Contains(known, name) {
			return problem.New(settingsHint([]string{name}), "cannot alter topic %s: there is no setting %q", topic, name)
		}
	}
	return nil
}

func alterFailure(ctx context.Context, admin *kadm.Client, topic string, err error, message string, changes []kadm.AlterConfig) error {
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return missingTopic(ctx, admin, topic, createIt(topic))
	}
	var names []string
	for _, c := range changes {
		names = append(names, c.Name)
	}
	hint := ""
	if errors.Is(err, kerr.InvalidConfig) || errors.Is(err, kerr.InvalidRequest) {
		hint = settingsHint(names)
	}
	return refusal("alter", topic, err, message, hint)
}

func (t topicAlter) addPartitions(ctx context.Context, admin *kadm.Client, done *alteredTopic) error {
	update := admin.UpdatePartitions
	if t.dryRun {
		update = admin.ValidateUpdatePartitions
	}
	answers, err := update(ctx, t.partitions, done.Topic)
	if err != nil {
		return fmt.Errorf("adding partitions to topic %s: %w", done.Topic, err)
	}
	answer, err := answers.On(done.Topic, nil)
	if err = errors.Join(err, answer.Err); err != nil {
		if errors.Is(err, kerr.UnknownTopicOrPartition) {
			return missingTopic(ctx, admin, done.Topic, createIt(done.Topic))
		}
		return refusal("add partitions to", done.Topic, err, answer.ErrMessage, "")
	}
	done.Partitions = t.partitions
	return nil
}

func (d alteredTopic) text(w io.Writer) {
	act := "topic"
	if d.DryRun {
		act = "would alter: topic"
	}
	for _, name := range slices.Sorted(maps.Keys(d.Set)) {
		fmt.Fprintf(w, "%s %s: %s=%s\n", act, d.Topic, name, d.Set[name])
	}
	for _, name := range d.Unset {
		fmt.Fprintf(w, "%s %s: %s is back at its default\n", act, d.Topic, name)
	}
	if d.Partitions > 0 {
		fmt.Fprintf(w, "%s %s: %s\n", act, d.Topic, count(d.Partitions, "partition"))
	}
}
