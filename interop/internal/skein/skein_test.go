package skein

import "testing"

func TestABrokerThatEndedByItselfIsAnError(t *testing.T) {
	b, err := Start(t, Options{})
	if err != nil {
		t.Fatal(err)
	}
	addr := b.Addr
	b.Kill()
	if err := b.Start(t.Context()); err != nil || b.Addr != addr || addr == anyPort {
		t.Errorf("started again on %s, was on %s: %v", b.Addr, addr, err)
	}
	b.process.Kill() // not by Kill of the broker, which is meant
	if err := b.Stop(); err == nil {
		t.Error("Stop of a broker that was gone is no error")
	}
	b.killed = true // for the end of the test
}
