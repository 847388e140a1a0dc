//go:build synctests

package consumer

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// meddles returns a Dial whose answers are changed on their way: what a broker of another kind, or other rights, would say.
func (w *world) meddles(change func(kmsg.Response)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		broker, err := w.dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		client, inside := net.Pipe()
		m := &meddler{change: change, asked: map[uint32]kmsg.Response{}}
		pass := func(to, from net.Conn, f func([]byte) []byte) {
			for frame, err := readFrame(from); err == nil; frame, err = readFrame(from) {
				if _, err = to.Write(withLength(f(frame))); err != nil {
					break
				}
			}
			_, _ = to.Close(), from.Close()
		}
		go pass(broker, inside, m.request)
		go pass(inside, broker, m.response)
		return client, nil
	}
}

// meddler knows what the answers are to.
type meddler struct {
	change func(kmsg.Response)

	mu    sync.Mutex
	asked map[uint32]kmsg.Response // by correlation id: what is to be read
}

func (m *meddler) request(frame []byte) []byte {
	resp := kmsg.ResponseForKey(int16(binary.BigEndian.Uint16(frame)))
	resp.SetVersion(int16(binary.BigEndian.Uint16(frame[2:])))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[binary.BigEndian.Uint32(frame[4:])] = resp
	return frame
}

func (m *meddler) response(frame []byte) []byte {
	m.mu.Lock()
	resp := m.asked[binary.BigEndian.Uint32(frame)]
	m.mu.Unlock()
	header := 4
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		header++ // no tags
	}
	if resp.ReadFrom(frame[header:]) != nil {
		return frame // an ApiVersions of another version than was asked for
	}
	m.change(resp)
	return resp.AppendTo(frame[:header:header])
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r, frame)
	return frame, err
}

func withLength(frame []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)
}
