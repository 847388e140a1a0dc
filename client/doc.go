// Package client says how a program reaches a Kafka cluster: addresses, identity, TLS, SASL. Consumers, producers and the command
// line are given the same Config.
package client
