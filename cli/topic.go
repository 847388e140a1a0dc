package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/cli/internal/connect"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/internal/settings"
)

func newTopic(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topic",
		Short: "Create, list, describe, alter and delete topics",
		Args:  cobra.ArbitraryArgs,
		RunE:  a.helpOrUnknown,
	}
	cmd.AddCommand(newTopicCreate(a), newTopicList(a), newTopicDescribe(a), newTopicAlter(a), newTopicDelete(a))
	return cmd
}

// addConnection gives a client verb the connection block.
func addConnection(cmd *cobra.Command, a *app) *connect.Flags {
	flags := connect.NewFlags()
	tag(flags.FlagSet(), groupConnection)
	cmd.Flags().AddFlagSet(flags.FlagSet())
	_ = cmd.RegisterFlagCompletionFunc("profile", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return flags.ProfileNames(a.env.Getenv), cobra.ShellCompDirectiveNoFileComp
	})
	for _, name := range []string{"tls-ca", "tls-cert", "tls-key", "sasl-password-file", "sasl-token-file", "config"} {
		_ = cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		})
	}
	return flags
}

// admin connects and hands an admin client to act, whose errors it explains.
func (a *app) admin(ctx context.Context, flags *connect.Flags, act func(ctx context.Context, admin *kadm.Client) error) error {
	cl, err := a.connect(ctx, flags)
	if err != nil {
		return err
	}
	defer cl.Close()
	return cl.Admin(ctx, act)
}

// completeTopics offers the cluster's topics.
func (a *app) completeTopics(flags *connect.Flags) cobra.CompletionFunc {
	return a.completeNames(flags, func(ctx context.Context, admin *kadm.Client) ([]string, error) {
		topics, err := admin.ListTopics(ctx)
		return topics.Names(), err
	})
}

// completeNames offers what the cluster has; silence when it cannot be reached
// within a moment.
func (a *app) completeNames(flags *connect.Flags, list func(context.Context, *kadm.Client) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), cmp.Or(a.env.moment, 2*time.Second))
		defer cancel()
		_ = a.admin(ctx, flags, func(ctx context.Context, admin *kadm.Client) (err error) {
			names, err = list(ctx, admin)
			return err
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFirst offers completions for the first argument only.
func completeFirst(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f(cmd, args, toComplete)
	}
}

// completeTopicSettings offers the names of topic settings, ready for a value.
func completeTopicSettings(suffix string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, d := range settings.Topics().All() {
			names = append(names, d.Name+suffix)
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// parseSettings reads NAME=VALUE pairs.
func parseSettings(pairs []string) (map[string]*string, error) {
	out := map[string]*string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, problem.Usage("write NAME=VALUE, such as retention.ms=3600000", "%q is not a setting", pair)
		}
		out[name] = &value
	}
	return out, nil
}

// settingsHint names the setting that an unknown one was probably meant to
// be. Clusters may know settings that we do not, so that this only speaks
// after the cluster has refused.
func settingsHint(names []string) string {
	for _, name := range names {
		if _, known := settings.Topics().Lookup(name); known {
			continue
		}
		if twin := topicTwin(name); twin != "" {
			return fmt.Sprintf("%s is a setting of brokers: that of a topic is %s", name, twin)
		}
		if near := settings.Topics().Nearest(name); near != "" {
			return fmt.Sprintf("did you mean %s instead of %s? `skein settings --topic` lists them all", near, name)
		}
		return "`skein settings --topic` lists the settings of topics"
	}
	return ""
}

// topicTwin names the topic setting for which a broker setting holds the
// default, under one of its names.
func topicTwin(name string) string {
	broker, _ := settings.Brokers().Lookup(name)
	for _, d := range settings.Topics().All() {
		for _, synonym := range d.Synonyms {
			if synonym == name || slices.Contains(broker.Synonyms, synonym) {
				return d.Name
			}
		}
	}
	return ""
}

// missingTopic says that a topic does not exist and which one was probably
// meant; hint is for when none is near.
func missingTopic(ctx context.Context, admin *kadm.Client, topic, hint string) error {
	if topics, err := admin.ListTopics(ctx); err == nil {
		if near := problem.DidYouMean(topic, topics.Names()); near != "" {
			hint = near
		}
	}
	return problem.New(hint, "there is no topic %q", topic)
}

func createIt(topic string) string { return "create it with `skein topic create " + topic + "`" }

// refusal is a topic operation that the cluster refused: what it said, and a
// hint where we know better.
func refusal(act, topic string, err error, message, hint string) error {
	reason := message
	if reason == "" {
		reason = reasonText(err)
	}
	if hint == "" {
		hint = codeHint(err)
	}
	if errors.Is(err, kerr.InvalidTopicException) && strings.Contains(message, "collides") {
		hint = "metrics take . and _ alike: choose a name that differs in something else"
	}
	return &problem.Error{What: fmt.Sprintf("cannot %s topic %s: %s", act, topic, reason), Hint: hint, Err: err}
}

// reasonText is a broker's error without its code's spelling in capitals.
func reasonText(err error) string {
	if code, ok := errors.AsType[*kerr.Error](err); ok && code.Description != "" {
		return strings.TrimSuffix(code.Description, ".") + " (" + code.Message + ")"
	}
	return err.Error()
}

func codeHint(err error) string {
	switch {
	case errors.Is(err, kerr.TopicAlreadyExists):
		return "--if-not-exists makes this no error"
	case errors.Is(err, kerr.InvalidReplicationFactor):
		return "a replication factor is at most the number of brokers; a single broker has 1"
	case errors.Is(err, kerr.InvalidTopicException):
		return "a name has up to 249 letters, digits, dots, underscores and dashes"
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed):
		return "ask the cluster's operator for an ACL, or authenticate as somebody else"
	}
	return ""
}
