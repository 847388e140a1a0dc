package machine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Connections is how many TCP connections a server on this machine has on its
// port, whether it listens for IPv4 alone or, as a Java machine, for both.
func Connections(port int) (count int, _ error) {
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, fmt.Errorf("reading connections: %w", err)
		}
		count += countConnections(string(text), port)
	}
	return count, nil
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
