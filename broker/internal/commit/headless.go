package commit

import (
	"encoding/binary"
)

// A file whose header cannot be read has lost its salt, and the salt is in the checksum of every frame's header. It enters
// there as a seed of 32 bits, and a CRC can be run backwards: one whole frame tells the seed, and another confirms it. One
// alone proves nothing: with its header damaged it would tell another seed.

// behead reads from the frames of f what its header would say.
func (v *salvage) behead(f *relic) error {
	return f.look(v.fs, func(s *scanner) error {
		seed, first, err := s.findSeed()
		if err != nil || first.count == 0 {
			return err
		}
		f.headless, f.seed = true, seed
		f.header = fileHeader{number: f.number}
		if first.durable < firstSeq(f.number) { // it is of the first round, and says what the header said
			f.header.durable = first.durable
		}
		return nil
	})
}

// vote is what frames say that agree on a seed.
type vote struct {
	frames int
	bytes  int64
	first  frameHeader
}

// findSeed returns the seed that most bytes of frames agree on, of two at least, and the first frame that has it. Bytes of
// records that look like a frame lie within frames, so they are never the most.
func (s *scanner) findSeed() (seed uint32, first frameHeader, err error) {
	votes := map[uint32]vote{}
	for at := int64(fileHeaderSize); ; {
		b, err := s.at(at, frameHeaderSize)
		if err != nil {
			return 0, first, err
		}
		if b == nil {
			break
		}
		size := int64(frameAlign)
		if h, ok := readFrameHeader(b); ok && s.isNew(h) {
			own := seedBefore(b[:frameHeaderSize-4], binary.BigEndian.Uint32(b[frameHeaderSize-4:]))
			whole, err := s.payload(at, h)
			if err != nil {
				return 0, first, err
			}
			if whole != nil {
				size = frameSize(int(h.length))
				v := votes[own]
				if v.frames == 0 {
					v.first = h
				}
				v.frames, v.bytes = v.frames+1, v.bytes+size
				votes[own] = v
			}
		}
		at += size
	}
	most := int64(0)
	for own, v := range votes {
		if v.frames > 1 && v.bytes > most {
			seed, first, most = own, v.first, v.bytes
		}
	}
	return seed, first, nil
}

// seedBefore is the checksum before b of which sum is the checksum behind it: crc32.Update run backwards.
func seedBefore(b []byte, sum uint32) uint32 {
	var byTop [256]byte // the entry of the table by its highest byte, which is another in each
	for i, entry := range castagnoli {
		byTop[entry>>24] = byte(i)
	}
	state := ^sum
	for i := len(b) - 1; i >= 0; i-- {
		entry := byTop[state>>24]
		state = (state^castagnoli[entry])<<8 | uint32(entry^b[i])
	}
	return ^state
}
