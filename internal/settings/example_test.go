package settings_test

import (
	"fmt"

	"github.com/skeinstream/skein/internal/settings"
)

func ExampleResolveTopic() {
	layers := settings.Layers{Static: map[string]string{"log.retention.hours": "24"}}
	topic, err := settings.ResolveTopic(layers, map[string]string{"cleanup.policy": "compact"})
	fmt.Println(topic.RetentionMs, topic.Compact, err)

	_, err = settings.Topics().Parse("retention.mss", "1")
	fmt.Println(err)
	// Output:
	// 86400000 true <nil>
	// Unknown topic config name: retention.mss (did you mean retention.ms?)
}
