package groupsim

import "time"

// dice are a source of numbers that follow from a seed (the generator SplitMix64).
type dice uint64

// newDice gives each place dice of its own, so that what happens in one moves no other's.
func newDice(seed uint64, place string) *dice {
	d := dice(seed)
	for _, c := range []byte(place) {
		d = dice(d.next() + uint64(c))
	}
	return &d
}

func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// n is one of the numbers below n.
func (d *dice) n(n int) int { return int(d.next() % uint64(n)) }

// in says yes so many times in a thousand.
func (d *dice) in(thousand int) bool { return d.n(1000) < thousand }

func (d *dice) between(least, most time.Duration) time.Duration {
	return least + time.Duration(d.next()%uint64(most-least+1))
}

func pick[T any](d *dice, of ...T) T { return of[d.n(len(of))] }
