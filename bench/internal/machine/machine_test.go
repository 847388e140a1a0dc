package machine

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestParseCPUMindsNamesWithBlanksAndBrackets(t *testing.T) {
	stat := "4321 (a (b) c) S 1 4321 4321 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 5 0 12345 1000 200 18446744073709551615"
	got, err := parseCPU(stat)
	if err != nil || got != 2*time.Second {
		t.Errorf("parseCPU = %v, %v; want 2s", got, err)
	}
	if _, err := parseCPU("4321 (x) S 1"); err == nil {
		t.Error("a short line is taken")
	}
}

func TestParseKilobytes(t *testing.T) {
	text := "Name:\tx\nVmHWM:\t 200 kB\nVmRSS:\t   100 kB\n"
	if got, err := parseKilobytes(text, "VmRSS:"); err != nil || got != 100*1024 {
		t.Errorf("VmRSS = %d, %v", got, err)
	}
	if _, err := parseKilobytes(text, "VmSwap:"); err == nil {
		t.Error("a line that is not there is read")
	}
}

func TestOwnProcessIsMeasured(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	p := Process(os.Getpid())
	if bytes, err := p.Resident(); err != nil || bytes < 1<<20 {
		t.Errorf("resident: %d, %v", bytes, err)
	}
	if _, err := p.CPU(); err != nil {
		t.Error(err)
	}
}

func TestParseMachineTime(t *testing.T) {
	stat := "cpu  100 10 90 700 50 5 45 0 7 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"
	busy, total, err := parseMachineTime(stat)
	if err != nil || busy != 2500*time.Millisecond || total != 10*time.Second {
		t.Errorf("parseMachineTime = %v of %v, %v; want 2.5s of 10s", busy, total, err)
	}
	if _, _, err := parseMachineTime("intr 1 2 3"); err == nil {
		t.Error("a file without the line is taken")
	}
}

func TestOwnWorkIsNotOthers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	w, err := NewWatch(0)
	if err != nil {
		t.Fatal(err)
	}
	if share, err := w.Others(); err != nil || share < 0 || share > 1 {
		t.Errorf("Others = %v, %v", share, err)
	}
}

func TestDescribeMeasuresTheDisk(t *testing.T) {
	text, err := Describe(t.TempDir())
	if err != nil || text == "" {
		t.Errorf("Describe = %q, %v", text, err)
	}
}

func TestConnectionsOfAPortAreThoseOfItsServer(t *testing.T) {
	text := "  sl  local_address rem_address   st tx_queue rx_queue\n" +
		"   0: 0100007F:2384 00000000:0000 0A 00000000:00000000\n" + // listens
		"   1: 0100007F:2384 0100007F:D2A4 01 00000000:00000000\n" +
		"   2: 0100007F:D2A4 0100007F:2384 01 00000000:00000000\n" + // the client's end
		"   3: 0100007F:2384 0100007F:D2A6 06 00000000:00000000\n" // is over
	if got := countConnections(text, 0x2384); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
	six := "   0: 0000000000000000FFFF00000100007F:2384 0000000000000000FFFF00000100007F:D2A4 01 00000000:00000000\n"
	if got := countConnections(six, 0x2384); got != 1 {
		t.Errorf("%d connections over IPv6, want 1", got)
	}
}
