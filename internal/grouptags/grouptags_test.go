package grouptags

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"testing"
	"time"
)

func TestProtocolsBytes(t *testing.T) {
	list := []Protocol{{Name: "range", Metadata: []byte{1, 2}}, {Name: "cs"}, {Metadata: []byte{}}}
	got := AppendProtocols(nil, list)
	want := "04" + "0672616e6765" + "030102" + "00" + "036373" + "00" + "00" + "01" + "01" + "00"
	if hex.EncodeToString(got) != want {
		t.Errorf("written: %x, want %s", got, want)
	}
	back, err := ReadProtocols(got)
	if err != nil || !reflect.DeepEqual(back, list) {
		t.Errorf("read back: %v, %v", back, err)
	}
}

func TestNamesBytes(t *testing.T) {
	got := AppendNames(nil, []Protocol{{Name: "range", Metadata: []byte{1, 2}}, {Name: "cs"}})
	if want := "03" + "0672616e6765" + "0000" + "036373" + "0000"; hex.EncodeToString(got) != want {
		t.Errorf("written: %x, want %s", got, want)
	}
	if back, err := ReadNames(got); err != nil || !reflect.DeepEqual(back, []string{"range", "cs"}) {
		t.Errorf("read back: %v, %v", back, err)
	}
	if _, err := ReadNames(got[:4]); err == nil {
		t.Error("a torn field is read")
	}
}

func TestHistoryBytes(t *testing.T) {
	history := []Generation{
		{Number: 1, Cause: Joined, MemberID: "m", ClientID: "c", Reason: "r", Protocol: "p", Members: 2, Started: time.UnixMilli(1000), Joining: 3 * time.Second, Syncing: -1},
		{Number: 2, Cause: OverSize, InstanceID: "i", Started: time.UnixMilli(2000), Syncing: 5 * time.Millisecond},
	}
	got := AppendHistory(nil, history)
	want := "03" +
		"00000001" + "00" + "026d" + "01" + "0263" + "0272" + "0270" + "00000002" + "00000000000003e8" + "0000000000000bb8" + "ffffffffffffffff" + "00" +
		"00000002" + "07" + "01" + "0269" + "01" + "01" + "01" + "00000000" + "00000000000007d0" + "0000000000000000" + "0000000000000005" + "00"
	if hex.EncodeToString(got) != want {
		t.Errorf("written:\n%x, want\n%s", got, want)
	}
	back, err := ReadHistory(got)
	history[0].Syncing = -time.Millisecond
	if err != nil || !reflect.DeepEqual(back, history) {
		t.Errorf("read back: %v, %v", back, err)
	}
}

// What later versions add behind the fields of an entry is passed over.
func TestLaterFieldsArePassedOver(t *testing.T) {
	b := []byte{2, 2, 'p', 1, 1, 7, 2, 0xaa, 0xbb}
	list, err := ReadProtocols(b)
	if err != nil || len(list) != 1 || list[0].Name != "p" {
		t.Errorf("%v, %v", list, err)
	}
}

func TestTornFieldsAreErrors(t *testing.T) {
	whole := AppendHistory(nil, []Generation{{Number: 1, MemberID: "m"}})
	for n := range whole {
		if _, err := ReadHistory(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes are read", n, len(whole))
		}
	}
	if _, err := ReadHistory(append(whole, 0)); err == nil {
		t.Error("a byte too many is read")
	}
	for _, b := range [][]byte{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0x7f}, {2, 0xff, 0xff, 0x7f}} {
		if _, err := ReadProtocols(b); err == nil {
			t.Errorf("%x is read", b)
		}
	}
}

func TestCausesHaveWords(t *testing.T) {
	seen := map[string]bool{}
	for c := range causes {
		seen[c.String()] = true
	}
	if len(seen) != int(causes) || Cause(causes).String() != "unknown" || Cause(-1).String() != "unknown" {
		t.Errorf("words: %v", seen)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(AppendProtocols(nil, []Protocol{{Name: "p", Metadata: []byte{1}}}))
	f.Add(AppendHistory(nil, []Generation{{Number: 1}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if list, err := ReadProtocols(b); err == nil {
			again := AppendProtocols(nil, list)
			back, err := ReadProtocols(again)
			if err != nil || !bytes.Equal(AppendProtocols(nil, back), again) {
				t.Fatalf("%x: %v", b, err)
			}
		}
		if history, err := ReadHistory(b); err == nil {
			again := AppendHistory(nil, history)
			back, err := ReadHistory(again)
			if err != nil || !bytes.Equal(AppendHistory(nil, back), again) {
				t.Fatalf("%x: %v", b, err)
			}
		}
	})
}
