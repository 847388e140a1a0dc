package settings

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Listener is a place where the broker listens, and what clients that came through it are told to connect to.
type Listener struct {
	Name           string
	Host           string
	Port           int
	AdvertisedHost string // empty: as Host, or the machine's name when that is empty too
	AdvertisedPort int    // 0: as the port that is listened on
}

// listeners joins the places to listen with the addresses to advertise, by listener name.
func listeners(places, advertised []string) ([]Listener, error) {
	all, err := bound(places)
	if err != nil {
		return nil, err
	}
	for _, place := range advertised {
		if err := advertise(all, place); err != nil {
			return nil, err
		}
	}
	for _, l := range all {
		if l.AdvertisedHost == "" && everyAddress(l.Host) {
			return nil, fmt.Errorf("listener %s listens on every address of the machine: say in advertised.listeners what clients are to connect to", l.Name)
		}
	}
	return all, nil
}

func bound(places []string) ([]Listener, error) {
	var all []Listener
	for _, place := range places {
		name, host, port, err := splitListener(place)
		if err != nil {
			return nil, err
		}
		if find(all, name) != nil {
			return nil, fmt.Errorf("listeners: each listener must have a different name, %s is named twice", name)
		}
		all = append(all, Listener{Name: name, Host: host, Port: port})
	}
	return all, nil
}

func advertise(all []Listener, place string) error {
	name, host, port, err := splitListener(place)
	if err != nil {
		return err
	}
	l := find(all, name)
	switch {
	case l == nil:
		return fmt.Errorf("advertised.listeners: %s is not the name of a listener", name)
	case everyAddress(host):
		return fmt.Errorf("advertised.listeners: nobody can connect to %s", host)
	}
	l.AdvertisedHost, l.AdvertisedPort = host, port
	return nil
}

func find(all []Listener, name string) *Listener {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

func everyAddress(host string) bool { return host == "0.0.0.0" || host == "::" }

// splitListener takes NAME://host:port apart. Listener names are compared in capitals, as in Kafka.
func splitListener(place string) (name, host string, port int, err error) {
	name, address, _ := strings.Cut(place, "://")
	host, port, err = splitAddress(address)
	if err != nil {
		return "", "", 0, fmt.Errorf("listener %s: %w", place, err)
	}
	return strings.ToUpper(name), host, port, nil
}

func splitAddress(address string) (host string, port int, err error) {
	colon := strings.LastIndexByte(address, ':')
	if colon < 0 {
		return "", 0, fmt.Errorf("want NAME://host:port")
	}
	port, err = strconv.Atoi(address[colon+1:])
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("the port must be a number from 0 to 65535")
	}
	return strings.Trim(address[:colon], "[]"), port, nil
}

// limitsPerIP reads address:limit, several separated by commas; the address may hold colons itself.
func limitsPerIP(text string) (map[string]int, error) {
	limits := map[string]int{}
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		colon := max(strings.LastIndexByte(item, ':'), 0)
		n, err := strconv.Atoi(strings.TrimPrefix(item[colon:], ":"))
		if err != nil || n < 0 || colon == 0 {
			return nil, fmt.Errorf("max.connections.per.ip.overrides: %s is not address:limit", item)
		}
		host := strings.Trim(item[:colon], "[]")
		if _, err := netip.ParseAddr(host); err != nil {
			return nil, fmt.Errorf("max.connections.per.ip.overrides: %s is no IP address; names and ranges are not known here", host)
		}
		limits[host] = n
	}
	return limits, nil
}
