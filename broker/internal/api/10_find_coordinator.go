package api

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
)

// FindCoordinator (10): who coordinates a group, or a transactional id.
//
// v1: the type of the key, throttle time, a message (which is "NONE" without an error)
// v2: throttled by muting the connection after the response (KIP-219)
// v3: flexible
// v4: several keys (KIP-699)
// v5: TRANSACTION_ABORTABLE (KIP-890), which is for producers
// v6: share groups (KIP-932)
//
// The coordinator of every group and of every transactional id is this broker, at the address of the listener in use; also
// that of the group "" (T32, R-K1). The topic that they are kept in is made first when it is missing. There are no share
// groups: UNSUPPORTED_VERSION is final for every client.
func findCoordinatorEntry() entry {
	return entry{key: 10, min: 0, max: 6, flexible: 3, serve: (*Handler).findCoordinator}
}

const (
	groupKey, transactionKey, shareKey = 0, 1, 2

	findMany  = 4 // the first version of FindCoordinator with several keys
	findShare = 6 // with share groups
)

func (h *Handler) findCoordinator(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	if !decode(r, req) {
		return
	}
	prepare := h.Groups.Prepare
	switch {
	case req.CoordinatorType == transactionKey && h.Transactions != nil:
		prepare = h.Transactions.Prepare
	case req.CoordinatorType != groupKey:
		reply(r, coordinatorsFound(req, func(key string) kmsg.FindCoordinatorResponseCoordinator {
			return notFound(key, refuseCoordinator(req, key))
		}))
		return
	}
	prepare(func(err error) {
		defer r.Contain()
		reply(r, coordinatorsFound(req, func(key string) kmsg.FindCoordinatorResponseCoordinator {
			if err != nil {
				return notFound(key, refuse(kerr.CoordinatorNotAvailable, "%s", kerr.CoordinatorNotAvailable.Description))
			}
			return h.here(r.Conn.Listener(), key)
		}))
	})
}

// refuseCoordinator says why there is no coordinator for other keys.
func refuseCoordinator(req *kmsg.FindCoordinatorRequest, key string) refusal {
	switch t := req.CoordinatorType; {
	case t == transactionKey:
		return refuse(kerr.UnsupportedVersion, "There are no transactions.")
	case t == shareKey && req.Version < findShare:
		return refuse(kerr.InvalidRequest, "Share groups need version %d of this request.", findShare)
	case t == shareKey && !sharePartition(key):
		return refuse(kerr.InvalidRequest, "The key of a share group must be group:topicId:partition.")
	case t == shareKey:
		return refuse(kerr.UnsupportedVersion, "There are no share groups.")
	default:
		return refuse(kerr.InvalidRequest, "Unknown coordinator type received: %d", t)
	}
}

// sharePartition reports whether key can name a partition of a share group: "group:topicId:partition".
func sharePartition(key string) bool {
	parts := strings.Split(key, ":")
	return len(parts) == 3 && !slices.Contains(parts, "")
}

func notFound(key string, f refusal) kmsg.FindCoordinatorResponseCoordinator {
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key, c.NodeID, c.Port, c.ErrorCode, c.ErrorMessage = key, -1, -1, f.code, f.text()
	return c
}

// here is this broker as a coordinator.
func (h *Handler) here(listener server.ListenerInfo, key string) kmsg.FindCoordinatorResponseCoordinator {
	b := h.broker(listener)
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key, c.NodeID, c.Host, c.Port, c.ErrorMessage = key, b.NodeID, b.Host, b.Port, pointer("")
	return c
}

// coordinatorsFound is the answer for all keys in the shape of the request's version.
func coordinatorsFound(req *kmsg.FindCoordinatorRequest, find func(key string) kmsg.FindCoordinatorResponseCoordinator) kmsg.Response {
	resp := kmsg.NewPtrFindCoordinatorResponse()
	if req.Version < findMany {
		c := find(req.CoordinatorKey)
		if resp.ErrorCode, resp.ErrorMessage = c.ErrorCode, c.ErrorMessage; c.ErrorCode == 0 {
			resp.ErrorMessage = pointer("NONE")
		}
		resp.NodeID, resp.Host, resp.Port = c.NodeID, c.Host, c.Port
		return resp
	}
	for _, key := range req.CoordinatorKeys {
		resp.Coordinators = append(resp.Coordinators, find(key))
	}
	return resp
}
