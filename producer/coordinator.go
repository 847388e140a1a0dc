package producer

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/internal/ages"
)

// coordinator names that of a group, or of a transactional id.
type coordinator struct {
	group bool
	key   string
}

func (p *Producer) ownCoordinator() coordinator { return coordinator{key: p.cfg.TransactionalID} }

// capped is a request that is sent in no newer version.
type capped struct {
	kmsg.Request
	newest int16
}

// MaxVersion is the newest version to send.
func (c capped) MaxVersion() int16 { return min(c.newest, c.Request.MaxVersion()) }

// ask sends a request to a coordinator, once. An error that wraps no *kerr.Error is an answer that was lost; one that does was not sent.
func (p *Producer) ask(ctx context.Context, at coordinator, req kmsg.Request) (kmsg.Response, error) {
	node, err := p.find(ctx, at)
	if err != nil {
		return nil, err
	}
	resp, err := p.kafka.Broker(int(node)).Request(ctx, req)
	if err == nil {
		return resp, nil
	}
	delete(p.coordinators, at)
	if dial, ok := errors.AsType[*client.DialError](err); ok {
		return nil, unsent(dial)
	}
	return nil, fmt.Errorf("%s has had no answer: %w", kmsg.NameForKey(req.Key()), err)
}

// unsent is why a request was not sent. That passes.
func unsent(err error) error { return fmt.Errorf("%w: %w", kerr.CoordinatorNotAvailable, err) }

// find returns the broker that is the coordinator.
func (p *Producer) find(ctx context.Context, at coordinator) (int32, error) {
	if node, known := p.coordinators[at]; known {
		return node, nil
	}
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey = at.key
	if !at.group {
		req.CoordinatorType = 1
	}
	resp, err := req.RequestWith(ctx, p.kafka)
	if err != nil {
		return 0, unsent(fmt.Errorf("finding the coordinator of %q: %w", at.key, err))
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return 0, fmt.Errorf("finding the coordinator of %q: %w", at.key, err)
	}
	p.coordinators[at] = resp.NodeID
	return resp.NodeID, nil
}

// moved forgets a coordinator that says it is none.
func (p *Producer) moved(at coordinator, err error) {
	if errors.Is(err, kerr.NotCoordinator) || errors.Is(err, kerr.CoordinatorNotAvailable) {
		delete(p.coordinators, at)
	}
}

// versions asks a coordinator what it can do.
func (p *Producer) versions(ctx context.Context, at coordinator) (*kmsg.ApiVersionsResponse, error) {
	resp, err := p.ask(ctx, at, client.ApiVersions())
	if err != nil {
		return nil, unsent(err)
	}
	return resp.(*kmsg.ApiVersionsResponse), nil
}

// newest is the version in which a request would be sent to a broker that can do what resp says.
func (p *Producer) newest(resp *kmsg.ApiVersionsResponse, key int16) int16 {
	for _, k := range resp.ApiKeys {
		if k.ApiKey != key {
			continue
		}
		if allowed, ok := p.allowed().LookupMaxKeyVersion(key); ok {
			return min(k.MaxVersion, allowed)
		}
	}
	return -1
}

// allowed is what franz-go may speak, which Config.Cluster may have narrowed.
func (p *Producer) allowed() *kversion.Versions {
	versions, _ := p.kafka.OptValue(kgo.MaxVersions).(*kversion.Versions)
	if versions == nil {
		return kversion.Stable()
	}
	return versions
}

// has makes sure that a request would be sent in a version, or a newer one.
func (p *Producer) has(ctx context.Context, at coordinator, req kmsg.Request, version int16) error {
	resp, err := p.versions(ctx, at)
	if err != nil {
		return err
	}
	if p.newest(resp, req.Key()) < version {
		return fmt.Errorf("the broker, which speaks as Kafka %s does, has no %s of version %d: %w",
			cmp.Or(ages.Release(kversion.FromApiVersionsResponse(resp)), "of no release"), kmsg.NameForKey(req.Key()), version, kerr.UnsupportedVersion)
	}
	return nil
}

// meets finds out what may be relied on. Where nobody says whether offsets are stable, those of a predecessor are given time to become so, before
// somebody asks for them.
func (p *Producer) meets(ctx context.Context) error {
	resp, err := p.versions(ctx, p.ownCoordinator())
	if err != nil {
		return err
	}
	p.stable = p.newest(resp, int16(kmsg.OffsetFetch)) >= stableSince
	if !p.stable {
		if err := pause(ctx, unheardPause); err != nil {
			return err
		}
	}
	implicit := p.isImplicit(resp)
	p.implicit = &implicit
	return nil
}

// isImplicit says whether the cluster has KIP-890, and franz-go may speak it.
func (p *Producer) isImplicit(resp *kmsg.ApiVersionsResponse) bool {
	for key, version := range map[kmsg.Key]int16{kmsg.Produce: 12, kmsg.EndTxn: 5, kmsg.TxnOffsetCommit: 5} {
		if p.newest(resp, int16(key)) < version {
			return false
		}
	}
	for _, f := range resp.FinalizedFeatures {
		if f.Name == "transaction.version" && f.MaxVersionLevel >= 2 {
			return true
		}
	}
	return false
}
