package groups

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/grouptags"
)

func TestFilesOfKafkasToolAreRead(t *testing.T) {
	want := []Row{{"orders", 0, 5}, {"orders", 1, 0}, {"pay.ments", 0, 1 << 40}}
	for name, text := range map[string]string{
		"of one group":      "orders,0,5\norders,1,0\npay.ments,0,1099511627776\n",
		"quoted":            "\"orders\",0,5\n\"orders\",1,0\n\"pay.ments\",0,1099511627776",
		"carriage returns":  "orders,0,5\r\norders,1,0\r\n\r\npay.ments,0,1099511627776\r\n",
		"blanks":            "orders, 0, 5\norders,1 ,0\npay.ments,0,1099511627776\n",
		"of several groups": "app,orders,0,5\nother,orders,0,9\napp,orders,1,0\napp,pay.ments,0,1099511627776\n",
	} {
		if got, err := ReadRows(strings.NewReader(text), "app"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestWhatIsWrongInAFileIsTold(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "no offsets for the group app",
		"other,t,0,1\n":            "no offsets for the group app",
		"t,0,1\nt,0\n":             "line 2",
		"t,x,1\n":                  `"x" is not a partition`,
		"t,-1,1\n":                 `"-1" is not a partition`,
		"t,0,soon\n":               `"soon" is not an offset`,
		"t,0,-2\n":                 `"-2" is not an offset`,
		",0,1\n":                   "topic is missing",
		"t,0,1\nt,1,1\nt,0,2\n":    "line 3: t partition 0 stands in line 1 already",
		"\"t,0,1\n":                "line 1",
		"TOPIC,PARTITION,OFFSET\n": `"PARTITION" is not a partition`,
	} {
		if _, err := ReadRows(strings.NewReader(text), "app"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	var b strings.Builder
	err := WriteRows(&b, []Move{{Topic: "t", Partition: 1, New: at(7)}, {Topic: "t", Partition: 2, Error: "x"}, {Topic: "u", New: at(0)}})
	if want := "t,1,7\nu,0,0\n"; err != nil || b.String() != want {
		t.Errorf("%q, %v", b.String(), err)
	}
	rows, err := ReadRows(strings.NewReader(b.String()), "app")
	if want := []Row{{"t", 1, 7}, {"u", 0, 0}}; err != nil || !reflect.DeepEqual(rows, want) {
		t.Errorf("%v, %v", rows, err)
	}
}

func TestScopes(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  Partitions
	}{
		{nil, Partitions{}},
		{[]string{"t"}, Partitions{"t": nil}},
		{[]string{"t:1,0", "u:2-4"}, Partitions{"t": {0, 1}, "u": {2, 3, 4}}},
		{[]string{"t:1", "t:3,1"}, Partitions{"t": {1, 3}}},
	} {
		got, err := ParseScope(c.words)
		if err != nil || got.String() != c.want.String() || len(got) != len(c.want) {
			t.Errorf("%v: %v, %v", c.words, got, err)
		}
	}
	for _, bad := range [][]string{{""}, {":1"}, {"t:"}, {"t:x"}, {"t:-1"}, {"t:3-1"}, {"t:0-2147483647"}, {"t", "t"}, {"t", "t:1"}, {"t:1", "t"}, {"t:99999999999"}} {
		if got, err := ParseScope(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestPartitionsAreWrittenAsRanges(t *testing.T) {
	p := Partitions{"b": {5}}
	p.Add("a", 3, 0, 1, 2, 9, 1)
	if got := p.String(); got != "a:0-3,9 b:5" || p.Len() != 6 {
		t.Errorf("%q, %d", got, p.Len())
	}
}

func TestMembersAreFoundByWhatIsClear(t *testing.T) {
	g := Group{Name: "g", Members: []Member{{ID: "app-1-aa"}, {ID: "app-1-ab"}, {ID: "blue-cc", InstanceID: "blue"}}}
	for name, want := range map[string]string{"app-1-aa": "app-1-aa", "app-1-ab": "app-1-ab", "blue": "blue-cc", "bl": "blue-cc"} {
		if m, err := g.Find(name); err != nil || m.ID != want {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	for name, want := range map[string]string{"app-1": "several members", "app-2-aa": "no member", "": "no member"} {
		if _, err := g.Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHistoryIsReadWhereItIs(t *testing.T) {
	var tags kmsg.Tags
	tags.Set(9999, []byte("something else"))
	if list, err := history(tags); list != nil || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	began := time.UnixMilli(1_700_000_000_123)
	tags.Set(grouptags.DescribeHistory, grouptags.AppendHistory(nil, []grouptags.Generation{
		{Number: 1, Cause: grouptags.Joined, MemberID: "m", ClientID: "c", Reason: "need to join", Protocol: "range", Members: 1, Started: began, Joining: 3 * time.Second, Syncing: 5 * time.Millisecond},
		{Number: 2, Cause: grouptags.Expired, MemberID: "m", InstanceID: "i", Started: began, Joining: 0, Syncing: -1},
	}))
	list, err := history(tags)
	want := []Rebalance{
		{At: began.UTC(), Generation: 1, Cause: "member joined", Member: "m", ClientID: "c", Reason: "need to join", Protocol: "range", Members: 1, Joining: at(3000), Syncing: at(5)},
		{At: began.UTC(), Generation: 2, Cause: "session expired", Member: "m", InstanceID: "i", Joining: at(0)},
	}
	if err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("%+v, %v", list, err)
	}
	tags.Set(grouptags.DescribeHistory, grouptags.AppendHistory(nil, nil))
	if list, err := history(tags); list == nil || len(list) != 0 || err != nil {
		t.Errorf("%v, %v: an empty history is not none", list, err)
	}
	tags.Set(grouptags.DescribeHistory, []byte{9, 1})
	if _, err := history(tags); err == nil {
		t.Error("damage is not told")
	}
}

func TestListsAreReadWhereTheyAre(t *testing.T) {
	var tags kmsg.Tags
	tags.Set(9999, []byte("something else"))
	var m Member
	if err := m.lists(tags); err != nil || m.Offers != nil {
		t.Errorf("%+v, %v", m, err)
	}
	tags.Set(grouptags.DescribeOffers, grouptags.AppendNames(nil, []grouptags.Protocol{{Name: "cs"}, {Name: "range"}}))
	tags.Set(grouptags.DescribeWithheld, grouptags.AppendNames(nil, []grouptags.Protocol{{Name: "sticky"}}))
	if err := m.lists(tags); err != nil || !reflect.DeepEqual(m.Offers, []string{"cs", "range"}) || !reflect.DeepEqual(m.Withholds, []string{"sticky"}) {
		t.Errorf("%+v, %v", m, err)
	}
	tags.Set(grouptags.DescribeWithheld, []byte{9, 1})
	if err := m.lists(tags); err == nil {
		t.Error("damage is not told")
	}
}

func TestAScopeCoversWhatItNames(t *testing.T) {
	scope := Partitions{"all": nil, "some": {1, 3}}
	for _, c := range []struct {
		topic     string
		partition int32
		want      bool
	}{{"all", 7, true}, {"some", 1, true}, {"some", 3, true}, {"some", 2, false}, {"none", 1, false}} {
		if got := scope.Covers(c.topic, c.partition); got != c.want {
			t.Errorf("%s:%d: %v", c.topic, c.partition, got)
		}
	}
}
