package kafka

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/skeinstream/skein/interop/proc"
)

// Security describes a broker's SASL_SSL listener: its own certificate
// authority, a client certificate, and one user of each mechanism.
type Security struct {
	Addr           string
	CAFile         string // PEM
	ClientCertFile string // PEM, signed by the CA
	ClientKeyFile  string // PEM, PKCS#8, no password
	User, Password string // of PLAIN; of SCRAM once AddScramUser has run
}

// secure makes keys and adds the SASL_SSL listener to settings.
func (b *Broker) secure(dir string, settings map[string]string) error {
	port, err := proc.FreePort()
	if err != nil {
		return err
	}
	s := &Security{
		Addr:           net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		CAFile:         filepath.Join(dir, "ca.pem"),
		ClientCertFile: filepath.Join(dir, "client.pem"),
		ClientKeyFile:  filepath.Join(dir, "client.key"),
		User:           "client",
		Password:       "client-secret",
	}
	if err := makeKeys(dir); err != nil {
		return err
	}
	b.Security = s
	settings["listeners"] += ",SECURE://" + s.Addr
	settings["advertised.listeners"] += ",SECURE://" + s.Addr
	settings["listener.security.protocol.map"] += ",SECURE:SASL_SSL"
	settings["sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
	for k, v := range map[string]string{
		"ssl.keystore.location":   filepath.Join(dir, "server.both.pem"),
		"ssl.keystore.type":       "PEM",
		"ssl.truststore.location": s.CAFile,
		"ssl.truststore.type":     "PEM",
		"ssl.client.auth":         "requested",
		"plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required " +
			"user_" + s.User + "=\"" + s.Password + "\";",
		"scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
		"scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
		// Unsecured tokens (alg none): Kafka's own development mode.
		"oauthbearer.sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required " +
			"unsecuredLoginStringClaim_sub=\"broker\";",
	} {
		settings["listener.name.secure."+k] = v
	}
	return nil
}

// AddScramUser gives the security's user a SCRAM password too.
func (b *Broker) AddScramUser(ctx context.Context) error {
	for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
		_, err := b.Tools.Run(ctx, ConfigCommand, "--bootstrap-server", b.Addr, "--alter",
			"--entity-type", "users", "--entity-name", b.Security.User,
			"--add-config", fmt.Sprintf("%s=[password=%s]", mechanism, b.Security.Password))
		if err != nil {
			return err
		}
	}
	return nil
}
