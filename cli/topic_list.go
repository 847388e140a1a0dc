package cli

import (
	"context"
	"fmt"
	"io"
	"path"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/skeinstream/skein/cli/internal/problem"
)

type listedTopic struct {
	Topic             string `json:"topic"`
	Partitions        int    `json:"partitions"`
	ReplicationFactor int    `json:"replication_factor"`
	Internal          bool   `json:"internal,omitempty"`
	Error             string `json:"error,omitempty"`
}

func newTopicList(a *app) *cobra.Command {
	var internal bool
	cmd := &cobra.Command{
		Use:     "list [PATTERN]",
		Aliases: []string{"ls"},
		Short:   "List topics",
		Example: `skein topic list
skein topic list 'orders-*'
skein topic list --json | jq -r '.[].topic'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return problem.Usage("quote the pattern, so that the shell does not expand it", "topic list takes one pattern, but got %d", len(args))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&internal, "internal", false, "list internal topics too")
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = completeFirst(a.completeTopics(flags))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		keep, err := topicPattern(args)
		if err != nil {
			return err
		}
		return a.admin(cmd.Context(), flags, func(ctx context.Context, admin *kadm.Client) error {
			topics, err := admin.ListTopicsWithInternal(ctx)
			if err != nil {
				return fmt.Errorf("listing topics: %w", err)
			}
			return a.printTopics(listTopics(topics, internal, keep), args)
		})
	}
	return cmd
}

// topicPattern matches names as a shell matches files.
func topicPattern(args []string) (func(topic string) bool, error) {
	if len(args) == 0 {
		return func(string) bool { return true }, nil
	}
	if _, err := path.Match(args[0], ""); err != nil {
		return nil, problem.Usage("use * and ? and [abc]", "%q is not a pattern", args[0])
	}
	return func(topic string) bool { ok, _ := path.Match(args[0], topic); return ok }, nil
}

func listTopics(topics kadm.TopicDetails, internal bool, keep func(string) bool) []listedTopic {
	list := []listedTopic{}
	for _, t := range topics.Sorted() {
		if t.IsInternal && !internal || !keep(t.Topic) {
			continue
		}
		item := listedTopic{Topic: t.Topic, Partitions: len(t.Partitions), ReplicationFactor: t.Partitions.NumReplicas(), Internal: t.IsInternal}
		if t.Err != nil {
			item.Error = reasonText(t.Err)
		}
		list = append(list, item)
	}
	return list
}

func (a *app) printTopics(list []listedTopic, pattern []string) error {
	return a.print(list, func(w io.Writer) {
		switch {
		case len(list) == 0 && len(pattern) > 0:
			fmt.Fprintf(a.notices(), "no topic matches %q\n", pattern[0])
			return
		case len(list) == 0:
			fmt.Fprintln(a.notices(), "there are no topics; `skein topic create NAME` makes one")
			return
		}
		t := newTable(w, "TOPIC", "PARTITIONS", "REPLICATION")
		for _, item := range list {
			t.row(item.Topic, item.Partitions, item.ReplicationFactor, item.Error)
		}
		t.flush()
	})
}
