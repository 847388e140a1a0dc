package vfs

import (
	"io"
	"sync"
)

func (m *Memory) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.open("lock", name, true)
	if err != nil {
		return nil, err
	}
	if m.locks[n] {
		return nil, pathError("lock", name, ErrLocked)
	}
	m.locks[n] = true
	return &memoryLock{m: m, node: n}, nil
}

type memoryLock struct {
	m    *Memory
	node *node
	once sync.Once
}

func (l *memoryLock) Close() error {
	l.once.Do(func() {
		l.m.mu.Lock()
		defer l.m.mu.Unlock()
		delete(l.m.locks, l.node)
	})
	return nil
}
