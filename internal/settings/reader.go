package settings

import "slices"

// reader takes values out of the layers by name and keeps the first error, so that a struct can be filled in one
// expression.
type reader struct {
	value func(name string) (Value, error)
	err   error
}

func (r *reader) get(name string) Value {
	v, err := r.value(name)
	if err != nil && r.err == nil {
		r.err = err
	}
	return v
}

func (r *reader) text(name string) string   { return r.get(name).Text }
func (r *reader) int(name string) int       { return int(r.get(name).Number) }
func (r *reader) int32(name string) int32   { return int32(r.get(name).Number) }
func (r *reader) long(name string) int64    { return r.get(name).Number }
func (r *reader) real(name string) float64  { return r.get(name).Real }
func (r *reader) truth(name string) bool    { return r.get(name).Truth }
func (r *reader) list(name string) []string { return r.get(name).List }

func (r *reader) has(name, item string) bool { return slices.Contains(r.list(name), item) }
