package catalog

// Record is one change of the catalog. Exactly one field is set. A record says what is so from now on, not how to get
// there: applying it needs nothing but the state before.
type Record struct {
	Founded        *Founded        `json:"founded,omitempty"`
	Started        *Started        `json:"started,omitempty"`
	TopicCreated   *Topic          `json:"topicCreated,omitempty"`
	PartitionsSet  *PartitionsSet  `json:"partitionsSet,omitempty"`
	TopicConfigs   *TopicConfigs   `json:"topicConfigs,omitempty"`
	TopicDeleted   *TopicDeleted   `json:"topicDeleted,omitempty"`
	TopicGone      *TopicGone      `json:"topicGone,omitempty"`
	BrokerConfigs  *BrokerConfigs  `json:"brokerConfigs,omitempty"`
	ProducerIDsSet *ProducerIDsSet `json:"producerIdsSet,omitempty"`
}

// Founded gives a new data directory its identity. It is the first record of all.
type Founded struct {
	ClusterID   ID `json:"clusterId"`
	DirectoryID ID `json:"directoryId"`
}

// Started counts the starts of the broker on this directory, from 0.
type Started struct {
	Count int32 `json:"count"`
}

// PartitionsSet raises the number of partitions of a topic.
type PartitionsSet struct {
	ID         ID    `json:"id"`
	Partitions int32 `json:"partitions"`
}

// TopicConfigs replaces all settings that a topic was given.
type TopicConfigs struct {
	ID      ID                `json:"id"`
	Configs map[string]string `json:"configs"`
}

// TopicDeleted takes a topic away. It is remembered until TopicGone says that nothing of it is left on disk.
type TopicDeleted struct {
	ID ID `json:"id"`
}

// TopicGone forgets a deleted topic.
type TopicGone struct {
	ID ID `json:"id"`
}

// BrokerConfigs replaces all settings that were given while running: to one broker, or with an empty name to all.
type BrokerConfigs struct {
	Broker  string            `json:"broker"`
	Configs map[string]string `json:"configs"`
}

// ProducerIDsSet says that every producer id below Next has been handed out.
type ProducerIDsSet struct {
	Next int64 `json:"next"`
}
