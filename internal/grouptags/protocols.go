package grouptags

// Protocol is a protocol that a member knows, and what it would say under it.
type Protocol struct {
	Name     string
	Metadata []byte
}

// AppendProtocols writes a list of protocols. Nil metadata is written as null.
func AppendProtocols(dst []byte, list []Protocol) []byte {
	dst = appendLength(dst, len(list))
	for _, p := range list {
		dst = appendText(dst, p.Name)
		dst = appendBytes(dst, p.Metadata)
		dst = append(dst, 0)
	}
	return dst
}

// AppendNames writes a list of protocols with null for what their members say under them.
func AppendNames(dst []byte, list []Protocol) []byte {
	dst = appendLength(dst, len(list))
	for _, p := range list {
		dst = append(appendText(dst, p.Name), 0, 0)
	}
	return dst
}

// ReadNames reads the names of what AppendNames or AppendProtocols wrote.
func ReadNames(b []byte) ([]string, error) {
	list, err := ReadProtocols(b)
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.Name
	}
	return names, err
}

// ReadProtocols reads what AppendProtocols wrote. Metadata are parts of b.
func ReadProtocols(b []byte) ([]Protocol, error) {
	r := reader{rest: b}
	list := make([]Protocol, r.length(3))
	for i := range list {
		list[i] = Protocol{Name: r.text(), Metadata: r.bytes()}
		r.tags()
	}
	if err := r.end("protocols"); err != nil {
		return nil, err
	}
	return list, nil
}
