package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

type secret struct {
	Bootstrap, Group, Topic, Name, Protocol, Mechanism, User, Password, Token, Ca, Certificate, Key string
	Endpoint                                                                                        string `json:"token_endpoint"`
	Seconds                                                                                         float64
}

// secured is a franz-go consumer of a secured listener; the protocol is told in ../../README.md.
func secured() {
	var w secret
	must(json.Unmarshal([]byte(os.Getenv("MEMBER")), &w))
	defer say("left", nil)
	say("ready", map[string]any{"client": "franz-go " + version("github.com/twmb/franz-go")})
	context, end := context.WithTimeout(context.Background(), time.Duration(w.Seconds*float64(time.Second)))
	defer end()
	client, err := kgo.NewClient(w.options()...)
	if raised(err) || raised(client.Ping(context)) {
		return
	}
	defer client.Close()
	for context.Err() == nil {
		fetches := client.PollFetches(context)
		for _, failed := range fetches.Errors() {
			raised(failed.Err)
		}
		for _, record := range fetches.Records() {
			say("record", map[string]any{"offset": record.Offset})
			if !raised(client.CommitUncommittedOffsets(context)) {
				say("committed", nil)
			}
			return
		}
	}
}

func (w secret) options() []kgo.Opt {
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(w.Bootstrap, ",")...), kgo.ClientID(w.Name), kgo.ConsumerGroup(w.Group), kgo.ConsumeTopics(w.Topic),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(200 * time.Millisecond),
		kgo.RequestRetries(1), kgo.DialTimeout(3 * time.Second),
	}
	if strings.HasSuffix(w.Protocol, "SSL") {
		options = append(options, kgo.DialTLSConfig(w.tls()))
	}
	if strings.HasPrefix(w.Protocol, "SASL") {
		options = append(options, kgo.SASL(w.sasl()))
	}
	return options
}

func (w secret) tls() *tls.Config {
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	pem, err := os.ReadFile(w.Ca)
	must(err)
	config.RootCAs.AppendCertsFromPEM(pem)
	if w.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(w.Certificate, w.Key)
		must(err)
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}

func (w secret) sasl() sasl.Mechanism {
	switch w.Mechanism {
	case "SCRAM-SHA-256":
		return scram.Auth{User: w.User, Pass: w.Password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: w.User, Pass: w.Password}.AsSha512Mechanism()
	case "OAUTHBEARER":
		return oauth.Oauth(func(context context.Context) (oauth.Auth, error) { return w.token(context) })
	}
	return plain.Auth{User: w.User, Pass: w.Password}.AsMechanism()
}

func (w secret) token(context context.Context) (oauth.Auth, error) {
	if w.Endpoint == "" {
		return oauth.Auth{Token: w.Token}, nil
	}
	form := strings.NewReader(url.Values{"grant_type": {"client_credentials"}}.Encode())
	request, err := http.NewRequestWithContext(context, "POST", w.Endpoint, form)
	must(err)
	request.SetBasicAuth(w.User, w.Password)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return oauth.Auth{}, err
	}
	defer answer.Body.Close()
	var told struct {
		AccessToken string `json:"access_token"`
	}
	err = json.NewDecoder(answer.Body).Decode(&told)
	return oauth.Auth{Token: told.AccessToken}, err
}

// raised tells an error by Kafka's name or by its type, the innermost one.
func raised(err error) bool {
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		return err != nil
	}
	var ofKafka *kerr.Error
	name := ""
	if errors.As(err, &ofKafka) {
		name = ofKafka.Message
	} else {
		inner := err
		for next := errors.Unwrap(inner); next != nil; next = errors.Unwrap(inner) {
			inner = next
		}
		name = fmt.Sprintf("%T", inner)
	}
	say("raised", map[string]any{"error": name, "text": err.Error()})
	return true
}
