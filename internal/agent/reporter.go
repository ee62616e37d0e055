// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
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
	for wait := firstReportAfter; sleep(stop, jittered(wait)); wait = reportInterval {
		r.send(ctx)
	}
}

func (r *reporter) send(ctx context.Context) {
	sending, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	list := r.metrics.list()
	for i := range list {
		list[i].Name = "prywalk." + list[i].Name
	}
	_, f := r.client.send(sending, otlp.Metrics(r.resource, r.scope, list, r.start.UnixNano(), time.Now().UnixNano()))
	switch {
	case f == nil && r.failing:
		r.failing = false
		r.logf("%s takes metrics again", r.receiver)
	case f == nil, r.failing, ctx.Err() != nil:
	case f.kind == refused && f.why != lostUnauthorized:
		r.failing = true
		r.logf("%s refuses metrics, the next are sent in a minute: %v; give it a pipeline of metrics, or "+
			"--otlp-metrics=false", r.receiver, cause(f.err))
	default:
		r.failing = true
		r.logf("cannot send metrics to %s, the next are sent in a minute: %v; %s", r.receiver, cause(f.err),
			cmp.Or(remedies[f.why], nextStep(f.err)))
	}
}
