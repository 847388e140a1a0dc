package stage

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/cli/internal/groups"
)

// remove takes a topic and a group of the play's away from a cluster that stays. Who was killed a moment ago may be a member yet.
func remove(ctx context.Context, cl *kgo.Client, name string) error {
	admin := kadm.NewClient(cl)
	if err := errors.Join(removeGroup(ctx, cl, admin, name), removeTopic(ctx, admin, name)); err != nil {
		return fmt.Errorf("removing the topic and the group %s: %w", name, err)
	}
	return nil
}

func removeGroup(ctx context.Context, cl *kgo.Client, admin *kadm.Client, name string) error {
	described, err := admin.DescribeGroups(ctx, name)
	if err != nil {
		return err
	}
	var dead []groups.Member
	for _, m := range described[name].Members {
		dead = append(dead, groups.Member{ID: m.MemberID})
	}
	if _, err := (groups.Client{Kafka: cl}).Remove(ctx, name, dead, "the demonstration is over"); err != nil {
		return err
	}
	if _, err = admin.DeleteGroup(ctx, name); errors.Is(err, kerr.GroupIDNotFound) {
		return nil
	}
	return err
}

func removeTopic(ctx context.Context, admin *kadm.Client, name string) error {
	_, err := admin.DeleteTopic(ctx, name)
	return err
}
