package settings

// topicDefaultSettings are the broker settings that stand in for a topic setting which the topic itself was not given.
// Most are the topic setting under another name; the times exist in several units besides, of which the finest that is
// set counts.
func topicDefaultSettings() []Def {
	defs := timesInOtherUnits()
	for _, d := range topicTableParts() {
		if len(d.Synonyms) == 0 || isTime(d.Synonyms[0]) {
			continue
		}
		d.Doc = "The default of the topic setting " + d.Name + ". " + d.Doc
		d.Name, d.Synonyms = d.Synonyms[0], nil
		d.Group, d.Dynamic = "Defaults for topics", true
		defs = append(defs, d)
	}
	return defs
}

func topicTableParts() []Def {
	return append(append(logSettings(), compactionSettings()...), otherTopicSettings()...)
}

// timesInOtherUnits are the settings for which one topic setting has several broker settings behind it. The coarser
// ones can only be set at the start, as in Kafka.
func timesInOtherUnits() []Def {
	const group = "Defaults for topics"
	roll := []string{"log.roll.ms", "log.roll.hours"}
	jitter := []string{"log.roll.jitter.ms", "log.roll.jitter.hours"}
	keep := []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"}
	flush := []string{"log.flush.interval.ms", "log.flush.scheduler.interval.ms"}
	return []Def{
		{Name: "log.roll.ms", Group: group, Type: Long, Unset: true, Valid: atLeast(1), Dynamic: true, Synonyms: roll,
			Doc: "The default of the topic setting segment.ms. Not set, log.roll.hours counts."},
		{Name: "log.roll.hours", Group: group, Type: Int, Default: "168", Valid: between(1, int32Max), Synonyms: roll,
			Doc: "The default of the topic setting segment.ms, in hours, when log.roll.ms is not set."},
		{Name: "log.roll.jitter.ms", Group: group, Type: Long, Unset: true, Valid: atLeast(0), Dynamic: true, Synonyms: jitter,
			Doc: "The default of the topic setting segment.jitter.ms. Not set, log.roll.jitter.hours counts."},
		{Name: "log.roll.jitter.hours", Group: group, Type: Int, Default: "0", Valid: between(0, int32Max), Synonyms: jitter,
			Doc: "The default of the topic setting segment.jitter.ms, in hours, when log.roll.jitter.ms is not set."},
		{Name: "log.retention.ms", Group: group, Type: Long, Unset: true, Valid: bounds{min: 1, max: int64Max}.or(-1), Dynamic: true, Synonyms: keep,
			Doc: "The default of the topic setting retention.ms. Not set, log.retention.minutes counts, and then log.retention.hours."},
		{Name: "log.retention.minutes", Group: group, Type: Int, Unset: true, Valid: bounds{min: 1, max: int32Max}.or(-1), Synonyms: keep,
			Doc: "The default of the topic setting retention.ms, in minutes, when log.retention.ms is not set."},
		{Name: "log.retention.hours", Group: group, Type: Int, Default: "168", Valid: bounds{min: 1, max: int32Max}.or(-1), Synonyms: keep,
			Doc: "The default of the topic setting retention.ms, in hours, when neither log.retention.ms nor log.retention.minutes is set."},
		{Name: "log.flush.interval.ms", Group: group, Type: Long, Unset: true, Valid: atLeast(0), Dynamic: true, Synonyms: flush,
			Doc: "The default of the topic setting flush.ms. Not set, log.flush.scheduler.interval.ms counts."},
		{Name: "log.flush.scheduler.interval.ms", Group: group, Type: Long, Default: forever, Valid: atLeast(0), Synonyms: flush,
			Doc: "The default of the topic setting flush.ms when log.flush.interval.ms is not set."},
	}
}

func isTime(name string) bool {
	for _, d := range timesInOtherUnits() {
		if d.Name == name {
			return true
		}
	}
	return false
}
