package roster

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// Longest is how many bytes a member may publish.
const Longest = 64

// mostRead bounds what is believed of one member: what it says that it knows is hostile input, as all that members say.
const mostRead = 32

// Notice is what stands behind the user data of an assignor.
type Notice struct {
	// Own is what the member publishes: 1 to Longest bytes. A leader, which speaks for others, leaves it empty.
	Own []byte
	// Known are what the member was told that others publish, or is being told by its leader.
	Known [][]byte
	// Missed are what its last leader has missed: whoever leads next does so once more, for that one may have died with them.
	Missed [][]byte
}

// version of the bytes. Later ones may only add to the end of the body: Missed is in it since version 2.
const version = 2

// guard begins a notice: read as a length or a number of elements, which is what who reads on behind the user data of an assignor takes it
// for, it is none.
const guard = "\xff\xff\xff\xff"

// magic ends it. A notice is looked for from the end, so that nobody has to know what the assignor has written before it.
const magic = "SkRo"

const (
	head = len(guard) + 2      // and the version
	tail = 4 + 2 + len(magic)  // checksum, length
	room = head + 1 + 1 + tail // of one of version 1 that says nothing
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append appends the notice to what an assignor has written.
func (n Notice) Append(userData []byte) []byte {
	start := len(userData)
	b := append(slices.Clip(userData), guard...)
	b = binary.BigEndian.AppendUint16(b, version)
	b = appendText(b, n.Own)
	b = appendTexts(b, n.Known)
	b = appendTexts(b, n.Missed)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
	b = binary.BigEndian.AppendUint16(b, uint16(len(b)-start+2+len(magic)))
	return append(b, magic...)
}

func appendTexts(b []byte, list [][]byte) []byte {
	list = list[:min(len(list), mostRead)]
	b = append(b, byte(len(list)))
	for _, text := range list {
		b = appendText(b, text)
	}
	return b
}

func appendText(b, text []byte) []byte {
	text = text[:min(len(text), Longest)]
	return append(append(b, byte(len(text))), text...)
}

// Split takes user data apart into what the assignor has written and the notice behind it. Without a whole one, found is false and
// everything is the assignor's. What is returned are parts of userData.
func Split(userData []byte) (assignors []byte, n Notice, found bool) {
	of, body, rest, ok := cut(userData)
	if !ok {
		return userData, Notice{}, false
	}
	if n, ok = read(of, body); !ok {
		return userData, Notice{}, false
	}
	return rest, n, true
}

// read takes the body of a notice apart. More may stand behind what is known.
func read(of int16, body []byte) (n Notice, whole bool) {
	r := reader{body}
	if n.Own, whole = r.text(); whole {
		n.Known, whole = r.texts()
	}
	if whole && of > 1 {
		n.Missed, whole = r.texts()
	}
	return n, whole
}

// cut finds the body of a notice, its version, and what stands before it.
func cut(b []byte) (of int16, body, rest []byte, found bool) {
	end := len(b) - len(magic)
	if len(b) < room || string(b[end:]) != magic {
		return 0, nil, nil, false
	}
	length := int(binary.BigEndian.Uint16(b[end-2:]))
	if length < room || length > len(b) {
		return 0, nil, nil, false
	}
	rest, b = b[:len(b)-length:len(b)-length], b[len(b)-length:]
	sum := binary.BigEndian.Uint32(b[length-tail:])
	if string(b[:len(guard)]) != guard || sum != crc32.Checksum(b[:length-tail], castagnoli) {
		return 0, nil, nil, false
	}
	of = int16(binary.BigEndian.Uint16(b[len(guard):]))
	return of, b[head : length-tail], rest, of > 0
}

// reader walks a body.
type reader struct{ b []byte }

func (r *reader) byte() (byte, bool) {
	if len(r.b) == 0 {
		return 0, false
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c, true
}

func (r *reader) text() ([]byte, bool) {
	n, ok := r.byte()
	if !ok || int(n) > Longest || int(n) > len(r.b) {
		return nil, false
	}
	text := r.b[:n:n]
	r.b = r.b[n:]
	return text, true
}

func (r *reader) texts() (list [][]byte, whole bool) {
	count, whole := r.byte()
	for range count {
		var text []byte
		if text, whole = r.text(); !whole {
			break
		}
		if len(list) < mostRead && len(text) > 0 {
			list = append(list, text)
		}
	}
	return list, whole
}
