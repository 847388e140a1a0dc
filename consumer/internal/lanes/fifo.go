package lanes

import "slices"

// fifo is a line in which one waits for one's turn. Both ends cost the same however long it is.
type fifo[T any] struct {
	items []T
	head  int
}

func (f *fifo[T]) len() int { return len(f.items) - f.head }

func (f *fifo[T]) push(v T) { f.items = append(f.items, v) }

// pop takes the first; there has to be one.
func (f *fifo[T]) pop() T {
	var none T
	v := f.items[f.head]
	f.items[f.head] = none // what is gone is not held
	f.head++
	if f.head > len(f.items)/2 {
		kept := copy(f.items, f.items[f.head:])
		clear(f.items[kept:])
		f.items, f.head = f.items[:kept], 0
	}
	return v
}

// drop takes out those for which it is so, and says how many there were.
func (f *fifo[T]) drop(is func(T) bool) int {
	before := f.len()
	f.items = slices.DeleteFunc(f.items[f.head:], is)
	f.head = 0
	return before - len(f.items)
}
