package roster

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"reflect"
	"testing"
)

func list(words ...string) (out [][]byte) {
	for _, w := range words {
		out = append(out, []byte(w))
	}
	return out
}

// The bytes outlive a process: docs/format/roster.md.
func TestGoldenBytes(t *testing.T) {
	for text, n := range map[string]Notice{
		"ffffffff0002026d650203796f75047468656d0104676f6e65bbff59da0023536b526f": {[]byte("me"), list("you", "them"), list("gone")},
		"ffffffff00020000004098dc7e0013536b526f":                                 {},
	} {
		if got := hex.EncodeToString(n.Append(nil)); got != text {
			t.Errorf("%+v: %s, want %s", n, got, text)
		}
	}
}

// Behind whatever an assignor writes: R-A14's and R-A18's schemas, nothing, or what nobody has thought of.
func TestWhatTheAssignorWroteIsLeft(t *testing.T) {
	n := Notice{[]byte("me"), list("you"), list("gone")}
	for _, before := range [][]byte{nil, {0, 0, 0, 7}, []byte("SkRo"), n.Append(nil)} {
		kept := bytes.Clone(before)
		rest, got, found := Split(n.Append(before))
		if !found || !bytes.Equal(rest, kept) || !reflect.DeepEqual(got, n) {
			t.Errorf("behind %q: %q, %+v, %t", kept, rest, got, found)
		}
	}
}

// A later version says more behind what is known, and the first one nothing of who is missed; an earlier one there never was.
func TestVersions(t *testing.T) {
	later, _ := hex.DecodeString("ffffffff0003026d650103796f750104676f6e656d6f7265f6bed0150022536b526f")
	if _, n, found := Split(later); !found || !reflect.DeepEqual(n, Notice{[]byte("me"), list("you"), list("gone")}) {
		t.Errorf("version 3: %+v, %t", n, found)
	}
	for text, want := range map[string]Notice{
		"ffffffff0001026d650203796f75047468656decb4ed65001d536b526f": {[]byte("me"), list("you", "them"), nil},
		"ffffffff000100005abe6d810012536b526f":                       {},
	} {
		first, _ := hex.DecodeString(text)
		if _, n, found := Split(first); !found || fmt.Sprint(n) != fmt.Sprint(want) {
			t.Errorf("version 1: %+v, %t", n, found)
		}
	}
	never, _ := hex.DecodeString("ffffffff0000026d650103796f75cdbca7b70018536b526f")
	if _, _, found := Split(never); found {
		t.Error("version 0 was read")
	}
}

// What is torn, or was never a notice, is the assignor's.
func TestNoNotice(t *testing.T) {
	whole := Notice{[]byte("me"), list("you", "them"), list("gone")}.Append([]byte{1, 2, 3})
	for i := range whole {
		torn := bytes.Clone(whole)
		torn[i] ^= 0x10
		if rest, n, found := Split(torn); i >= 3 && (found || len(n.Own) > 0 || !bytes.Equal(rest, torn)) {
			t.Errorf("byte %d changed: %q, %+v, %t", i, rest, n, found)
		}
		if rest, _, found := Split(whole[:i]); found || !bytes.Equal(rest, whole[:i]) {
			t.Errorf("the first %d bytes were read", i)
		}
	}
}

// Whoever can compute a checksum can write a body that ends too soon: it is the assignor's, too.
func TestABodyThatEndsTooSoon(t *testing.T) {
	for _, body := range [][]byte{{1, 'm'}, {2, 'm'}, {1, 'm', 1}, {1, 'm', 1, 2, 'y'}, {1, 'm', 0}, {1, 'm', 0, 1}, {1, 'm', 0, 1, 2, 'g'}} {
		b := binary.BigEndian.AppendUint16([]byte("before"+guard), version)
		b = append(b, body...)
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b[len("before"):], castagnoli))
		b = binary.BigEndian.AppendUint16(b, uint16(head+len(body)+tail))
		b = append(b, magic...)
		if rest, n, found := Split(b); found || len(n.Own)+len(n.Known) > 0 || !bytes.Equal(rest, b) {
			t.Errorf("%q: %q, %+v, %t", body, rest, n, found)
		}
	}
}

// What one member says is not to fill the memory of others.
func TestTooMuch(t *testing.T) {
	n := Notice{Own: make([]byte, 2*Longest)}
	for i := range 3 * mostRead {
		n.Known = append(n.Known, []byte{byte(i + 1)})
		n.Missed = append(n.Missed, []byte{byte(i + 1)})
	}
	_, got, found := Split(n.Append(nil))
	if !found || len(got.Own) != Longest || len(got.Known) != mostRead || len(got.Missed) != mostRead {
		t.Errorf("%d bytes, %d others, %d missed, %t", len(got.Own), len(got.Known), len(got.Missed), found)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(Notice{[]byte("me"), list("you"), list("gone")}.Append([]byte("before")))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		rest, n, found := Split(b)
		if !found {
			if !bytes.Equal(rest, b) {
				t.Fatalf("%x became %x", b, rest)
			}
			return
		}
		if again, m, found := Split(n.Append(rest)); !found || !bytes.Equal(again, rest) || !bytes.Equal(m.Own, n.Own) || !reflect.DeepEqual(m.Known, n.Known) || !reflect.DeepEqual(m.Missed, n.Missed) {
			t.Fatalf("%x: %+v, then %+v", b, n, m)
		}
	})
}
