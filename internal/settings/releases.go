package settings

// KafkaReleases returns the releases of Kafka whose requests a broker can be restricted to, the oldest first. 0.11 is the
// first with transactions, and with the record batches that are the only ones here.
func KafkaReleases() []string {
	return []string{
		"0.11", "1.0", "1.1",
		"2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8",
		"3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9",
		"4.0", "4.1", "4.2", "4.3", "4.4",
	}
}
