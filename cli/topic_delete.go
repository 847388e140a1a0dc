package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

type deletedTopic struct {
	Topic   string `json:"topic"`
	Deleted bool   `json:"deleted"`
}

func newTopicDelete(a *app) *cobra.Command {
	var ifExists bool
	cmd := &cobra.Command{
		Use:     "delete TOPIC…",
		Aliases: []string{"rm"},
		Short:   "Delete topics and everything in them",
		Args:    someArgs("the name of a topic"),
	}
	cmd.Flags().BoolVar(&ifExists, "if-exists", false, "succeed when the topic does not exist")
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = a.completeTopics(flags)
	cmd.RunE = func(cmd *cobra.Command, topics []string) error {
		return a.admin(cmd.Context(), flags, func(ctx context.Context, admin *kadm.Client) error {
			return deleteTopics(ctx, a, admin, topics, ifExists)
		})
	}
	return cmd
}

func deleteTopics(ctx context.Context, a *app, admin *kadm.Client, topics []string, ifExists bool) error {
	answers, err := admin.DeleteTopics(ctx, topics...)
	if err != nil {
		return fmt.Errorf("deleting topics: %w", err)
	}
	results, failures := []deletedTopic{}, []error{}
	for _, topic := range topics {
		answer := answers[topic]
		missing := errors.Is(answer.Err, kerr.UnknownTopicOrPartition)
		switch {
		case answer.Err == nil || missing && ifExists:
			results = append(results, deletedTopic{topic, !missing})
		case missing:
			failures = append(failures, missingTopic(ctx, admin, topic, "--if-exists makes this no error"))
		default:
			failures = append(failures, refusal("delete", topic, answer.Err, answer.ErrMessage, ""))
		}
	}
	err = a.print(results, func(w io.Writer) {
		for _, r := range results {
			if r.Deleted {
				fmt.Fprintf(w, "deleted topic %s\n", r.Topic)
			} else {
				fmt.Fprintf(w, "topic %s does not exist\n", r.Topic)
			}
		}
	})
	return errors.Join(append(failures, err)...)
}
