package partition

// chain is a list of appends to be told of their results once no lock is held.
type chain struct{ first, last *Append }

func (c *chain) add(a *Append) {
	a.next = nil
	if c.first == nil {
		c.first = a
	} else {
		c.last.next = a
	}
	c.last = a
}

// pop takes the first out, if there is one.
func (c *chain) pop() {
	if c.first == c.last {
		*c = chain{}
	} else {
		c.first = c.first.next
	}
}

// cut ends the chain, which ascends by offsets, before the first that begins at offset or behind it.
func (c *chain) cut(offset int64) {
	kept := chain{}
	for a := range c.each {
		if a.header.BaseOffset >= offset {
			break
		}
		kept.add(a)
	}
	*c = kept
}

// each walks the chain. What is done with an append may put it into another chain, or into other hands at once, so its
// link is read before.
func (c chain) each(yield func(*Append) bool) {
	for a := c.first; a != nil; {
		next := a.next
		if !yield(a) {
			return
		}
		a = next
	}
}

// finish tells everyone.
func (c chain) finish() {
	for a := range c.each {
		a.Done.Appended(a)
	}
}
