package simulation

import "time"

// Dice are a source of numbers that follow from a seed (the generator SplitMix64).
type Dice uint64

// NewDice gives each place dice of its own, so that what happens in one moves no other's.
func NewDice(seed uint64, place string) *Dice {
	d := Dice(seed)
	for _, c := range []byte(place) {
		d = Dice(d.next() + uint64(c))
	}
	return &d
}

func (d *Dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// N is one of the numbers below n.
func (d *Dice) N(n int) int { return int(d.next() % uint64(n)) }

// In says yes so many times in a thousand.
func (d *Dice) In(thousand int) bool { return d.N(1000) < thousand }

// Between is a time from least to most.
func (d *Dice) Between(least, most time.Duration) time.Duration {
	return least + time.Duration(d.next()%uint64(most-least+1))
}

// Pick is one of them.
func Pick[T any](d *Dice, of ...T) T { return of[d.N(len(of))] }
