package assign

import "testing"

func TestTransfersOfOneTopicAreToldWithoutRepeatingIt(t *testing.T) {
	got := tell([]Transfer{{"a", "b", "nc5"}, {"b", "c", "nc5"}, {"c", "d", "other"}, {"d", "e", "nc5"}})
	if want := "one of nc5 from a to b, another from b to c, one of other from c to d, one of nc5 from d to e"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
