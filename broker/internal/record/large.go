package record

import (
	"errors"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
)

// largeDefault is the memory beyond which a batch is large. A batch of a few hundred
// kilobytes may inflate to 128 MiB; checking it takes no memory, but what gathers
// its records takes them all: another codec, and zstd where the frame declares a
// large window.
const largeDefault = 8 << 20

// Gate lets a few at a time go on to take much memory. Enter waits for a place,
// Leave gives it back.
type Gate interface {
	Enter()
	Leave()
}

// room is called before the batch takes so much memory; it passes the gate once.
func (v *Validator) room(size int64) {
	if v.Gate != nil && !v.entered && size > int64(v.largeMin()) {
		v.entered = true
		v.Gate.Enter()
	}
}

func (v *Validator) largeMin() int {
	if v.large > 0 {
		return v.large
	}
	return largeDefault
}

func (v *Validator) leave() {
	if v.entered {
		v.entered = false
		v.Gate.Leave()
	}
}

var errLarge = errors.New("the records take much memory")

// gather collects the records for another codec. A large batch is walked through
// first, to know that it is good and how large it is.
func (v *Validator) gather(b Batch, h Header) *Refusal {
	err := v.collect(b, h, v.largeMin())
	if !errors.Is(err, errLarge) {
		return v.verdict(h, err)
	}
	v.raw = nil
	size, err := v.scan(b, h)
	if refusal := v.verdict(h, err); refusal != nil {
		return refusal
	}
	if stored := HeaderSize + size; v.rules.Target.Codec == None && v.rules.MaxBytes > 0 && stored > int64(v.rules.MaxBytes) {
		return v.tooLarge(stored)
	}
	v.room(size)
	v.raw = make([]byte, 0, size)
	return v.verdict(h, v.collect(b, h, math.MaxInt))
}

// tooLarge refuses what has so many bytes in the topic's codec.
func (v *Validator) tooLarge(size int64) *Refusal {
	return refuseEarly(kerr.MessageTooLarge, "batch has %d bytes as %v, max.message.bytes is %d", size, v.rules.Target.Codec, v.rules.MaxBytes)
}
