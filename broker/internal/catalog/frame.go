package catalog

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// Both files begin with a header of 16 bytes and go on in frames; docs/format/metadata-log.md draws them.
const (
	headerSize  = 16
	version     = 1
	logKind     = "skeincatlog\x00"
	snapKind    = "skeincatsnp\x00"
	frameHeader = 12
)

// frameMagic begins every frame. Its bytes never occur in the JSON of a frame, which is UTF-8: wherever they are found,
// a frame begins.
var frameMagic = []byte{0xff, 0xfe, 'S', 'K'}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// change is what one frame of the log holds: records that become durable together.
type change struct {
	Sequence int64    `json:"sequence"`
	Records  []Record `json:"records"`
}

func appendHeader(b []byte, kind string) []byte {
	b = append(b, kind...)
	return binary.BigEndian.AppendUint32(b, version)
}

// errVersion says that another version of the program wrote a file.
var errVersion = errors.New("it has another format version")

// checkHeader returns what follows the header of a file.
func checkHeader(b []byte, kind string) ([]byte, error) {
	if len(b) < headerSize || string(b[:len(kind)]) != kind {
		return nil, fmt.Errorf("it does not begin as such a file does")
	}
	if v := binary.BigEndian.Uint32(b[len(kind):]); v != version {
		return nil, fmt.Errorf("%w: %d, and this program reads %d", errVersion, v, version)
	}
	return b[headerSize:], nil
}

// appendFrame appends v in a frame: magic, length of the JSON, CRC-32C over length and JSON, JSON.
func appendFrame(b []byte, v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding a frame: %w", err)
	}
	start := len(b) + len(frameMagic)
	b = append(b, frameMagic...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	b = binary.BigEndian.AppendUint32(b, 0)
	b = append(b, body...)
	binary.BigEndian.PutUint32(b[start+4:], frameSum(b[start:]))
	return b, nil
}

// frameSum is the checksum of a frame from its length field on.
func frameSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:4], castagnoli), castagnoli, b[8:])
}

// cutFrame returns the JSON of the frame at the start of b and what follows it. ok is false when no whole frame is
// there.
func cutFrame(b []byte) (body, rest []byte, ok bool) {
	if len(b) < frameHeader || !bytes.HasPrefix(b, frameMagic) {
		return nil, nil, false
	}
	size := int64(binary.BigEndian.Uint32(b[4:]))
	if size > int64(len(b)-frameHeader) {
		return nil, nil, false
	}
	end := frameHeader + int(size)
	if frameSum(b[4:end]) != binary.BigEndian.Uint32(b[8:]) {
		return nil, nil, false
	}
	return b[frameHeader:end], b[end:], true
}

// torn reports whether b, which does not begin with a whole frame, can be what a crash left of one single frame: only
// the last append can be torn, since each is synced before the next. When another frame begins in b, or bytes follow
// where the frame must have ended, something else has happened.
func torn(b []byte) bool {
	if bytes.Contains(b[1:], frameMagic) {
		return false
	}
	if len(b) < frameHeader || !bytes.HasPrefix(b, frameMagic) {
		return true
	}
	return frameHeader+int64(binary.BigEndian.Uint32(b[4:])) >= int64(len(b))
}
