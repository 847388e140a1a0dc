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
}

// version of the bytes. Later ones may only add to the end of the body.
const version = 1

// guard begins a notice: read as a length or a number of elements, which is what who reads on behind the user data of an assignor takes it
// for, it is none.
const guard = "\xff\xff\xff\xff"

// magic ends it. A notice is looked for from the end, so that nobody has to know what the assignor has written before it.
const magic = "SkRo"

const (
	head = len(guard) + 2      // and the version
	tail = 4 + 2 + len(magic)  // checksum, length
	room = head + 1 + 1 + tail // of one that says nothing
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append appends the notice to what an assignor has written.
func (n Notice) Append(userData []byte) []byte {
	start := len(userData)
	b := append(slices.Clip(userData), guard...)
	b = binary.BigEndian.AppendUint16(b, version)
	b = appendText(b, n.Own)
	known := n.Known[:min(len(n.Known), mostRead)]
	b = append(b, byte(len(known)))
	for _, k := range known {
		b = appendText(b, k)
	}
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
	b = binary.BigEndian.AppendUint16(b, uint16(len(b)-start+2+len(magic)))
	return append(b, magic...)
}

func appendText(b, text []byte) []byte {
	text = text[:min(len(text), Longest)]
	return append(append(b, byte(len(text))), text...)
}

// Split takes user data apart into what the assignor has written and the notice behind it. Without a whole one, found is false and
// everything is the assignor's. What is returned are parts of userData.
func Split(userData []byte) (assignors []byte, n Notice, found bool) {
	body, rest, ok := cut(userData)
	if !ok {
		return userData, Notice{}, false
	}
	if n, ok = read(body); !ok {
		return userData, Notice{}, false
	}
	return rest, n, true
}

// read takes the body of a notice apart. More may stand behind what is known.
func read(body []byte) (n Notice, whole bool) {
	r := reader{body}
	var count byte
	if n.Own, whole = r.text(); whole {
		count, whole = r.byte()
	}
	for range count {
		var k []byte
		if k, whole = r.text(); !whole {
			break
		}
		if len(n.Known) < mostRead && len(k) > 0 {
			n.Known = append(n.Known, k)
		}
	}
	return n, whole
}

// cut finds the body of a notice, and what stands before it.
func cut(b []byte) (body, rest []byte, found bool) {
	end := len(b) - len(magic)
	if len(b) < room || string(b[end:]) != magic {
		return nil, nil, false
	}
	length := int(binary.BigEndian.Uint16(b[end-2:]))
	if length < room || length > len(b) {
		return nil, nil, false
	}
	rest, b = b[:len(b)-length:len(b)-length], b[len(b)-length:]
	sum := binary.BigEndian.Uint32(b[length-tail:])
	if string(b[:len(guard)]) != guard || sum != crc32.Checksum(b[:length-tail], castagnoli) {
		return nil, nil, false
	}
	if int16(binary.BigEndian.Uint16(b[len(guard):])) < version {
		return nil, nil, false
	}
	return b[head : length-tail], rest, true
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
