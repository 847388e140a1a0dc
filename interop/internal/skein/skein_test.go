package skein

import "testing"

func TestABrokerThatEndedByItselfIsAnError(t *testing.T) {
	b, err := Start(t, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.process.Kill() // not by Kill of the broker, which is meant
	if err := b.Stop(); err == nil {
		t.Error("Stop of a broker that was gone is no error")
	}
	b.killed = true // for the end of the test
}
