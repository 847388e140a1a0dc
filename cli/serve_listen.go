package cli

import (
	"net"
	"strconv"
	"strings"

	"github.com/skeinstream/skein/cli/internal/problem"
)

const listenHint = "write [NAME://]HOST:PORT[,advertised=HOST:PORT], such as 0.0.0.0:9092,advertised=broker.example.com:9092"

// parseListeners turns what --listen takes into the settings listeners and
// advertised.listeners.
func parseListeners(places []string) (listeners, advertised string, err error) {
	var bound, told []string
	for i, place := range places {
		l, err := parseListener(place, i)
		if err != nil {
			return "", "", err
		}
		bound = append(bound, l.name+"://"+l.address)
		if l.advertised != "" {
			told = append(told, l.name+"://"+l.advertised)
		}
	}
	return strings.Join(bound, ","), strings.Join(told, ","), nil
}

type listenPlace struct{ name, address, advertised string }

// parseListener reads one place. Without a name the first is PLAINTEXT, the
// second PLAINTEXT_2 and so on.
func parseListener(text string, index int) (listenPlace, error) {
	place, option, _ := strings.Cut(text, ",")
	l := listenPlace{name: "PLAINTEXT", address: place}
	if index > 0 {
		l.name += "_" + strconv.Itoa(index+1)
	}
	if name, address, ok := strings.Cut(place, "://"); ok {
		l.name, l.address = strings.ToUpper(name), address
	}
	if err := checkAddress(text, l.address, 0); err != nil {
		return l, err
	}
	if option != "" {
		key, value, _ := strings.Cut(option, "=")
		if key != "advertised" {
			return l, problem.Usage(listenHint, "--listen %s: %q is not an option", text, key)
		}
		l.advertised = value
		if err := checkAddress(text, value, 1); err != nil {
			return l, err
		}
	}
	if host, _, _ := net.SplitHostPort(l.address); everyAddress(host) && l.advertised == "" {
		return l, problem.Usage("say what clients are to connect to: --listen "+text+",advertised=HOST:PORT",
			"--listen %s takes every address of this machine, none of which is told to clients", text)
	}
	return l, nil
}

func everyAddress(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsUnspecified()
}

// checkAddress checks HOST:PORT; port 0 (any free one) is for listening only.
func checkAddress(whole, address string, lowest int) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return problem.Usage(listenHint, "--listen %s: %q is not HOST:PORT", whole, address)
	}
	if n, err := strconv.Atoi(port); err != nil || n < lowest || n > 65535 {
		return problem.Usage(listenHint, "--listen %s: the port %q is not a number from %d to 65535", whole, port, lowest)
	}
	if lowest > 0 && (host == "" || everyAddress(host)) {
		return problem.Usage(listenHint, "--listen %s: nobody can connect to %q", whole, address)
	}
	return nil
}
