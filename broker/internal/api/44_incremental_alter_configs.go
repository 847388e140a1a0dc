package api

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/settings"
)

// IncrementalAlterConfigs (44, KIP-339)
//
// v1: flexible
//
// Each key is set, deleted (back to its default), or, when its value is a list, gets items appended or subtracted;
// keys that are not named stay. A list that was not given begins from the setting's own default. The keys of one
// resource are changed together or not at all.
func incrementalAlterConfigsEntry() entry {
	return entry{key: 44, min: 0, max: 1, flexible: 1, serve: changes(kmsg.NewPtrIncrementalAlterConfigsRequest,
		func(h *Handler, ctx context.Context, req *kmsg.IncrementalAlterConfigsRequest) kmsg.Response {
			return h.incrementConfigs(ctx, req)
		})}
}

func (h *Handler) incrementConfigs(ctx context.Context, req *kmsg.IncrementalAlterConfigsRequest) kmsg.Response {
	all := make([]alteration, len(req.Resources))
	for i, r := range req.Resources {
		all[i] = increment(r)
	}
	resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
	for i, f := range h.alterConfigs(ctx, all, req.ValidateOnly) {
		answer := kmsg.NewIncrementalAlterConfigsResponseResource()
		answer.ResourceType, answer.ResourceName = all[i].kind, all[i].name
		answer.ErrorCode, answer.ErrorMessage = f.code, f.text()
		resp.Resources = append(resp.Resources, answer)
	}
	return resp
}

func increment(r kmsg.IncrementalAlterConfigsRequestResource) alteration {
	a := alteration{kind: r.ResourceType, name: r.ResourceName}
	for _, k := range r.Configs {
		a.keys = append(a.keys, k.Name)
		if k.Value == nil && k.Op != kmsg.IncrementalAlterConfigOpDelete {
			a.nulls = append(a.nulls, k.Name)
		}
	}
	table := settings.Topics()
	if r.ResourceType == kmsg.ConfigResourceTypeBroker {
		table = settings.Brokers()
	}
	a.turn = func(given map[string]string) refusal {
		for _, k := range r.Configs {
			if f := incrementKey(table, given, k); f.code != 0 {
				return f
			}
		}
		return refusal{}
	}
	return a
}

func incrementKey(table *settings.Table, given map[string]string, k kmsg.IncrementalAlterConfigsRequestResourceConfig) refusal {
	switch k.Op {
	case kmsg.IncrementalAlterConfigOpSet:
		given[k.Name] = *k.Value
		return refusal{}
	case kmsg.IncrementalAlterConfigOpDelete:
		delete(given, k.Name)
		return refusal{}
	case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
		return incrementList(table, given, k)
	default:
		return refuse(kerr.InvalidRequest, "Unknown operations type %d", k.Op)
	}
}

func incrementList(table *settings.Table, given map[string]string, k kmsg.IncrementalAlterConfigsRequestResourceConfig) refusal {
	def, known := table.Lookup(k.Name)
	if !known || def.Type != settings.List {
		return refuse(kerr.InvalidConfig, "Can't %s to key %s because its type is not LIST.", k.Op, k.Name)
	}
	text, ok := given[k.Name]
	if !ok {
		text = def.Default
	}
	items := slices.DeleteFunc(strings.Split(text, ","), func(item string) bool { return item == "" })
	if named := strings.Split(*k.Value, ","); k.Op == kmsg.IncrementalAlterConfigOpAppend {
		items = added(items, named)
	} else {
		items = subtracted(items, named)
	}
	given[k.Name] = strings.Join(items, ",")
	return refusal{}
}

// added is a list with the named items that it does not have.
func added(items, named []string) []string {
	has := map[string]bool{}
	for _, item := range items {
		has[item] = true
	}
	for _, item := range named {
		if !has[item] {
			has[item] = true
			items = append(items, item)
		}
	}
	return items
}

// subtracted is a list without the named items; one that it has twice goes as often as it is named.
func subtracted(items, named []string) []string {
	times := map[string]int{}
	for _, item := range named {
		times[item]++
	}
	return slices.DeleteFunc(items, func(item string) bool {
		times[item]--
		return times[item] >= 0
	})
}
