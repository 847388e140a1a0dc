package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/settings"
)

// Listener is a net.Listener that says what its clients are told to connect
// to, which may differ freely from the address that it is bound to (containers,
// proxies, port forwards).
type Listener struct {
	net.Listener
	Name string // the listener's name, as in Kafka's listeners; default PLAINTEXT
	Host string // advertised; default: the bound address
	Port int    // advertised; default: the bound port
}

const defaultListenerName = "PLAINTEXT"

// Listen binds the addresses of the setting "listeners", each to be given to
// Serve. On an error none stays bound.
func (b *Broker) Listen(ctx context.Context) ([]*Listener, error) {
	var all []*Listener
	for _, s := range b.settings().Listeners {
		l, err := listen(ctx, s)
		if err != nil {
			return nil, errors.Join(err, closeAll(all))
		}
		all = append(all, l)
	}
	return all, nil
}

func listen(ctx context.Context, s settings.Listener) (*Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
	if err != nil {
		return nil, fmt.Errorf("listening as %s: %w", s.Name, err)
	}
	own := &Listener{Listener: l, Name: s.Name, Host: s.AdvertisedHost, Port: s.AdvertisedPort}
	if own.Port == 0 {
		own.Port = l.Addr().(*net.TCPAddr).Port
	}
	return own, nil
}

func closeAll(all []*Listener) (err error) {
	for _, l := range all {
		err = errors.Join(err, l.Close())
	}
	return err
}

// info is what connections of l are told.
func info(l net.Listener) server.ListenerInfo {
	own, ok := l.(*Listener)
	if !ok {
		own = &Listener{Listener: l}
	}
	i := server.ListenerInfo{Name: own.Name, Host: own.Host, Port: int32(own.Port)}
	if i.Name == "" {
		i.Name = defaultListenerName
	}
	host, port := bound(own.Addr())
	if i.Host == "" {
		i.Host = host
	}
	if i.Port == 0 {
		i.Port = port
	}
	return i
}

// bound is the address of a listener as its clients can use it: one that is
// bound to every address of the machine gives the machine's name (T9).
func bound(a net.Addr) (host string, port int32) {
	host, p, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String(), 0
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = hostname()
	}
	n, _ := strconv.Atoi(p) // of our own listener: a number
	return host, int32(n)
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}
