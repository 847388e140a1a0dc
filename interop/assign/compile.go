package assign

import (
	"context"

	"github.com/skeinstream/skein/interop/kafka"
)

// Compile compiles a Java program of one class against all of Kafka, the group
// coordinator included, and returns the class path that runs it.
func Compile(ctx context.Context, class string, source []byte) (classPath string, err error) {
	tools, err := kafka.Install(ctx, kafkaVersion)
	if err != nil {
		return "", err
	}
	return tools.Compile(ctx, class, source)
}
