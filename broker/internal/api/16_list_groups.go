package api

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/group"
)

// ListGroups (16): which groups there are.
//
// v1: throttle time
// v2: throttled by muting the connection after the response (KIP-219)
// v3: flexible
// v4: the state of each group, and groups of some states only (KIP-518)
// v5: the type of each group, and groups of some types only (KIP-848)
//
// Filters do not look at the case of letters, nor that of states at blanks around the word; a state or a type that does not
// exist fits no group. A group whose
// records are being loaded might be missing from the list, so there is none until all are.
func listGroupsEntry() entry {
	return entry{key: 16, min: 0, max: 5, flexible: 3, serve: (*Handler).listGroups}
}

func (h *Handler) listGroups(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrListGroupsRequest()
	if !decode(r, req) {
		return
	}
	h.Groups.All(group.List{}, func(replies []any, err error) {
		defer r.Contain()
		resp := kmsg.NewPtrListGroupsResponse()
		if resp.ErrorCode = coordinatorCode(err); resp.ErrorCode == 0 {
			resp.Groups = listed(req, replies)
		}
		reply(r, resp)
	})
}

// listed is what fits the filters, by name. Each reply is by name.
func listed(req *kmsg.ListGroupsRequest, replies []any) []kmsg.ListGroupsResponseGroup {
	states, types := filter{}, filter{}
	for _, s := range req.StatesFilter {
		states[strings.ToLower(strings.TrimSpace(s))] = true
	}
	for _, t := range req.TypesFilter {
		types[strings.ToLower(t)] = true
	}
	lists := make([][]kmsg.ListGroupsResponseGroup, len(replies))
	for i, some := range replies {
		lists[i] = some.([]kmsg.ListGroupsResponseGroup)
		if len(states)+len(types) > 0 {
			lists[i] = slices.DeleteFunc(slices.Clone(lists[i]), func(g kmsg.ListGroupsResponseGroup) bool {
				return !states.fits(g.GroupState) || !types.fits(g.GroupType)
			})
		}
	}
	return mergeSorted(lists, func(a, b *kmsg.ListGroupsResponseGroup) int { return cmp.Compare(a.Group, b.Group) })
}

// filter is a set of words in small letters; an empty one lets everything through.
type filter map[string]bool

func (f filter) fits(word string) bool { return len(f) == 0 || f[strings.ToLower(word)] }
