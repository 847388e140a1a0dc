package api

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/broker/internal/server"
)

// What the requests about groups share. Each becomes one input for the machine of its group, or one for every group that
// it names, and is answered on the goroutine that has the reply.

// groupEntries lists the requests about groups.
func groupEntries() []entry {
	return []entry{
		offsetCommitEntry(),
		offsetFetchEntry(),
		findCoordinatorEntry(),
		joinGroupEntry(),
		heartbeatEntry(),
		leaveGroupEntry(),
		syncGroupEntry(),
		describeGroupsEntry(),
		listGroupsEntry(),
		deleteGroupsEntry(),
		offsetDeleteEntry(),
	}
}

// coordinatorCode is the error code for an error of Groups (R-K1).
func coordinatorCode(err error) int16 {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, coordinator.ErrLoading):
		return kerr.CoordinatorLoadInProgress.Code
	case errors.Is(err, coordinator.ErrNotCoordinator):
		return kerr.NotCoordinator.Code
	default:
		return kerr.CoordinatorNotAvailable.Code
	}
}

// inGroup answers r with what the machine of the group answers to in, or with what refused makes of an error.
func (h *Handler) inGroup(r *server.Request, name string, in any, refused func(code int16) kmsg.Response) {
	h.Groups.Do(name, in, func(got any, err error) {
		defer r.Contain()
		if code := coordinatorCode(err); code != 0 {
			reply(r, refused(code))
			return
		}
		reply(r, got.(kmsg.Response))
	})
}

// parked is a request that may wait for minutes, for other members of its group. The machine answers it, or the end of its
// connection does, or the end of the server, whoever comes first. A client that has gone needs no answer, but the slot of
// its connection is free at once; that its member is still in the group is for the session timeout to end.
type parked struct {
	request  *server.Request
	refused  func(code int16) kmsg.Response
	answered atomic.Bool
	stop     func() bool // takes the request back from the connection's context
}

// park is inGroup for such a request. Nothing of its body may be in use any more.
func (h *Handler) park(ctx context.Context, r *server.Request, name string, in any, refused func(code int16) kmsg.Response) {
	p := &parked{request: r, refused: refused}
	p.stop = context.AfterFunc(ctx, func() { p.abandon(context.Cause(ctx)) })
	h.Groups.Do(name, in, p.answer)
}

func (p *parked) answer(got any, err error) {
	if p.answered.Swap(true) {
		return
	}
	p.stop()
	defer p.request.Contain()
	if code := coordinatorCode(err); code != 0 {
		reply(p.request, p.refused(code))
		return
	}
	reply(p.request, got.(kmsg.Response))
}

// abandon ends the wait: the connection has ended, or the server is about to and wants the answer now.
func (p *parked) abandon(cause error) {
	if p.answered.Swap(true) {
		return
	}
	defer p.request.Contain()
	if errors.Is(cause, server.ErrShutdown) {
		reply(p.request, p.refused(kerr.NotCoordinator.Code))
		return
	}
	p.request.NoReply()
}

// inGroups gives every input to the machine of its group and answers r with what then makes of all that one has made of
// each reply, in the order of the inputs. Either gets code when there is no reply.
func inGroups[T any](h *Handler, r *server.Request, inputs []input, one func(i int, got any, code int16) T, then func([]T) kmsg.Response) {
	gather(h.Groups.Do, r, inputs, one, then)
}

// input is an input for the machine that decides about key: a group or a transactional id.
type input struct {
	key string
	in  any
}

// gather is inGroups for the machines that do asks.
func gather[T any](do func(key string, in any, done func(any, error)), r *server.Request, inputs []input, one func(i int, got any, code int16) T, then func([]T) kmsg.Response) {
	all := make([]T, len(inputs))
	var missing atomic.Int32
	missing.Store(int32(len(inputs)))
	if len(inputs) == 0 {
		reply(r, then(all))
		return
	}
	for i, in := range inputs {
		do(in.key, in.in, func(got any, err error) {
			defer r.Contain()
			all[i] = one(i, got, coordinatorCode(err))
			if missing.Add(-1) == 0 {
				reply(r, then(all))
			}
		})
	}
}

// slots are places in a response where error codes belong that the machine of a group decides.
type slots []*int16

// add makes place for one, which says UNKNOWN_SERVER_ERROR until it is filled.
func (s *slots) add(place *int16) {
	*place = kerr.UnknownServerError.Code
	*s = append(*s, place)
}

// fill puts code into the next free place.
func (s *slots) fill(code int16) {
	if len(*s) > 0 {
		*(*s)[0] = code
		*s = (*s)[1:]
	}
}
