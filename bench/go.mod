module github.com/skeinstream/skein/bench

go 1.26.0

replace (
	github.com/skeinstream/skein => ../
	github.com/skeinstream/skein/interop => ../interop
)

require (
	github.com/skeinstream/skein/interop v0.0.0-00010101000000-000000000000
	github.com/twmb/franz-go v1.22.3
	github.com/twmb/franz-go/pkg/kfake v0.0.0-20260918054303-01f206a7e32c
	github.com/twmb/franz-go/pkg/kmsg v1.15.1
	golang.org/x/sync v0.25.0
)

require (
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/pierrec/lz4/v4 v4.1.33 // indirect
)
