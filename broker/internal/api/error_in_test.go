package api

import (
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/vfs"
)

// An error anywhere in a response is counted, whatever is served.
func TestErrorInFindsEveryError(t *testing.T) {
	b := startWhole(t, vfs.NewMemory(), nil, Deps{Groups: &fakeGroups{}, Transactions: &fakeTransactions{}})
	for key := range b.table {
		if key <= 1 {
			continue // Produce and Fetch tell theirs themselves
		}
		resp := kmsg.ResponseForKey(key)
		if got := errorIn(resp); got != 0 {
			t.Errorf("%s: an empty response counts as error %d", kmsg.NameForKey(key), got)
		}
		fields := errorFields(reflect.ValueOf(resp).Elem())
		if len(fields) == 0 {
			t.Errorf("%s: no error code found", kmsg.NameForKey(key))
		}
		for _, f := range fields {
			f.SetInt(42)
			if got := errorIn(resp); got != 42 {
				t.Errorf("%s: an error in it counts as %d", kmsg.NameForKey(key), got)
			}
			f.SetInt(0)
		}
	}
}

// errorFields makes every array in v one element long, and returns all its error codes.
func errorFields(v reflect.Value) (fields []reflect.Value) {
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		switch {
		case name == "ErrorCode":
			fields = append(fields, f)
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			fields = append(fields, errorFields(f.Index(0))...)
		}
	}
	return fields
}
