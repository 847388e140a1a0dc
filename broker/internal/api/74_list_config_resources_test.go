package api

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestListConfigResources(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1), topic("b", 1, 1))
	for _, c := range []struct {
		version int16
		kinds   []int8
		want    []string
	}{
		{0, nil, nil},
		{1, nil, []string{"4 1", "2 a", "2 b"}},
		{1, []int8{2}, []string{"2 a", "2 b"}},
		{1, []int8{2, 2}, []string{"2 a", "2 b"}},
		{1, []int8{4, 16, 32}, []string{"4 1"}},
	} {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.ResourceTypes = c.kinds
		var got []string
		for _, r := range ask[*kmsg.ListConfigResourcesResponse](b, c.version, req).ConfigResources {
			got = append(got, fmt.Sprint(r.Type, " ", r.Name))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("v%d %v: %v", c.version, c.kinds, got)
		}
	}
	req := kmsg.NewPtrListConfigResourcesRequest()
	req.ResourceTypes = []int8{3}
	if resp := ask[*kmsg.ListConfigResourcesResponse](b, 1, req); resp.ErrorCode != kerr.UnsupportedVersion.Code {
		t.Errorf("%+v", resp)
	}
}
