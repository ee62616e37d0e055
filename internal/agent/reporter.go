// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"prywalk/internal/otlp"
	"prywalk/internal/protobuf"
)

const (
	reportInterval   = time.Minute
	firstReportAfter = 5 * time.Second
)

// reporter sends the agent's own metrics, also to a receiver that has refused them. Lost ones are not sent again:
// counters are cumulative.
type reporter struct {
	client   client
	receiver string
	metrics  *Metrics
	timeout  time.Duration
	resource protobuf.Message
	scope    protobuf.Message
	start    time.Time
	logf     func(format string, args ...any)
	failing  bool
}

func newReporter(o Options, m *Metrics, host []attribute) (*reporter, error) {
	c, err := newClient(o.Receiver, metricSignal)
	if err != nil {
		return nil, err
	}
	r := &reporter{client: c, receiver: redacted(o.Endpoint), metrics: m, timeout: o.Timeout, start: time.Now(),
		logf: o.Logf}
	r.resource = resourceMessage(append([]attribute{
		{"service.name", "prywalk"}, {"service.version", o.Version}, {"process.pid", int64(os.Getpid())},
	}, host...))
	r.scope = scopeMessage(o.Version)
	return r, nil
}

func (r *reporter) run(ctx context.Context, stop <-chan struct{}) {
	for wait := jittered(firstReportAfter); sleep(stop, wait); {
		wait = max(r.send(ctx), jittered(reportInterval))
	}
}

// send returns the pause that the receiver asks for.
func (r *reporter) send(ctx context.Context) (pause time.Duration) {
	sending, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	list := r.metrics.list()
	for i := range list {
		list[i].Name = "prywalk." + list[i].Name
	}
	_, f := r.client.send(sending, otlp.Metrics(r.resource, r.scope, list, r.start.UnixNano(), time.Now().UnixNano()))
	if f == nil {
		if r.failing {
			r.failing = false
			r.logf("%s takes metrics again", r.receiver)
		}
		return 0
	}
	if r.failing || ctx.Err() != nil {
		return f.pause()
	}
	r.failing = true
	next := "in a minute"
	if f.pause() > reportInterval {
		next = fmt.Sprintf("after %v", f.pause().Round(time.Second))
	}
	if f.kind == refused && f.why != lostUnauthorized {
		r.logf("%s refuses metrics, the next are sent %s: %v; give it a pipeline of metrics, or --otlp-metrics=false",
			r.receiver, next, cause(f.err))
	} else {
		r.logf("cannot send metrics to %s, the next are sent %s: %v; %s", r.receiver, next, cause(f.err),
			cmp.Or(remedies[f.why], nextStep(f.err)))
	}
	return f.pause()
}
