package machine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Connections is how many TCP connections over IPv4 a server on this machine has
// on its port.
func Connections(port int) (int, error) {
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return 0, fmt.Errorf("reading connections: %w", err)
	}
	return countConnections(string(text), port), nil
}

// established is the state of a connection that both sides use.
const established = "01"

// countConnections reads lines such as "0: 0100007F:1F90 0100007F:D2A4 01 ...":
// a number, the local and the remote address in hexadecimal, the state.
func countConnections(text string, port int) (count int) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 4 || words[3] != established {
			continue
		}
		_, local, _ := strings.Cut(words[1], ":")
		if n, err := strconv.ParseUint(local, 16, 16); err == nil && int(n) == port {
			count++
		}
	}
	return count
}
