package api

import "github.com/twmb/franz-go/pkg/kmsg"

// Features promise a protocol to clients (KIP-584). They are what this build serves: nobody can change them, so that there is
// one level of each, supported and in force.
//
// transaction.version 2 is KIP-890: every end of a transaction raises the producer's epoch, and partitions come into a
// transaction with their first batch. Producers look for it at the beginning of a transaction (R-E13).
type feature struct {
	name  string
	level int16
}

// features lists them, by name.
func (h *Handler) features() []feature {
	all := []feature{{"transaction.version", 2}}
	switch {
	case h.Transactions == nil:
		return nil
	case h.KafkaVersion != "":
		return finalizedBy(h.KafkaVersion, all)
	default:
		return all
	}
}

// announceFeatures puts the features into a response. Their epoch, by which clients tell which of two answers is newer, is the
// number of starts: another start may be that of another build.
func (h *Handler) announceFeatures(resp *kmsg.ApiVersionsResponse) {
	for _, f := range h.features() {
		supported := kmsg.NewApiVersionsResponseSupportedFeature()
		supported.Name, supported.MinVersion, supported.MaxVersion = f.name, f.level, f.level
		resp.SupportedFeatures = append(resp.SupportedFeatures, supported)
		finalized := kmsg.NewApiVersionsResponseFinalizedFeature()
		finalized.Name, finalized.MinVersionLevel, finalized.MaxVersionLevel = f.name, f.level, f.level
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, finalized)
		resp.FinalizedFeaturesEpoch = int64(h.Catalog.StartCount())
	}
}
