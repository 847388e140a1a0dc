package wire

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// WarmUp waits until a broker has made the topic of groups, which may have three partitions, and loaded it.
func WarmUp(ctx context.Context, addr string) error {
	for _, group := range []string{"a", "b", "c", "d", "e", "f", "g"} { // of all partitions
		for {
			err := known(ctx, addr, group)
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("waiting for the coordinator of groups: %w", err)
			}
			<-time.After(100 * time.Millisecond)
		}
	}
	return nil
}

// known asks for a group's coordinator, which makes the topic, and then that for the group.
func known(ctx context.Context, addr, group string) error {
	find := &kmsg.FindCoordinatorRequest{Version: 4, CoordinatorKeys: []string{group}}
	found, err := Ask[*kmsg.FindCoordinatorResponse](ctx, addr, "warm", find)
	if err == nil {
		err = kerr.ErrorForCode(found.Coordinators[0].ErrorCode)
	}
	if err != nil {
		return err
	}
	described, err := Ask[*kmsg.DescribeGroupsResponse](ctx, addr, "warm", &kmsg.DescribeGroupsRequest{Version: 5, Groups: []string{group}})
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(described.Groups[0].ErrorCode)
}
