package client

import "github.com/twmb/franz-go/pkg/kmsg"

// What brokers are told that a client is (KIP-511).
const (
	softwareName    = "skein"
	softwareVersion = "1"
)

// ApiVersions asks one broker what it can do. It says who asks, without which brokers since Kafka 2.4 refuse it; franz-go says so only where the
// request may go to any.
func ApiVersions() *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = softwareName, softwareVersion
	return req
}
