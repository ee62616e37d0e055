// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/sample"
	"prywalk/internal/store/profile"
)

// Options are the agent's settings.
type Options struct {
	Receiver Receiver
	Window   time.Duration
	// MaxMessage is the largest size before compression, bytes.
	MaxMessage int64
	// SpoolDir holds at most SpoolSize bytes of waiting messages, or one larger message; with "" they wait in memory.
	SpoolDir  string
	SpoolSize int64
	// Flush limits the sending in Finish.
	Flush       time.Duration
	MetricsAddr string
	Resource    ResourceOptions
	// Aggregate sends sums of a window, without times.
	Aggregate bool
	Version   string
	Logf      func(format string, args ...any)
}

var (
	_ profile.Cutter      = (*Agent)(nil)
	_ profile.StackHolder = (*Agent)(nil) // else nothing is evicted
)

// Agent sends the intervals of a recording. It is a [profile.Cutter] and a [profile.StackHolder].
type Agent struct {
	Metrics Metrics

	opts        Options
	sender      *sender
	service     service
	resources   *resources
	windows     *windowBuilder
	stopServer  func()
	ended       atomic.Bool
	exporting   sync.WaitGroup
	stopping    chan struct{} // closed when the sender is to end
	senderEnded chan struct{} // closed when it has ended
	abort       context.CancelFunc
}

// New checks the options and opens the spool. Messages that an earlier agent left there are sent too.
func New(o Options) (*Agent, error) {
	c, err := newClient(o.Receiver)
	if err != nil {
		return nil, err
	}
	if o.MaxMessage < minMessage || o.MaxMessage > maxMessage {
		return nil, errs.Usage("--max-message: give from %d to %d bytes", minMessage, maxMessage)
	}
	var s *spool
	if o.SpoolDir != "" {
		if s, err = openSpool(o.SpoolDir, o.SpoolSize); err != nil {
			return nil, err
		}
	}
	a := &Agent{
		opts: o, resources: newResources(o.Resource), stopping: make(chan struct{}),
		senderEnded: make(chan struct{}),
	}
	a.sender = newSender(c, &a.Metrics, s, int(o.MaxMessage), o.Receiver, o.Logf)
	return a, nil
}

// RedactedEndpoint returns the endpoint without its password.
func (a *Agent) RedactedEndpoint() string { return redacted(a.opts.Receiver.Endpoint) }

// Serve starts the metrics server, if configured.
func (a *Agent) Serve() (err error) {
	if a.opts.MetricsAddr == "" {
		return nil
	}
	addr, stop, err := a.Metrics.serve(a.opts.MetricsAddr, a.healthy, a.opts.Logf)
	if err != nil {
		return err
	}
	a.stopServer = stop
	a.opts.Logf("metrics: http://%s/metrics", addr)
	return nil
}

func (a *Agent) healthy() error {
	if a.ended.Load() {
		return errNotSampling
	}
	return nil
}

// Start begins the first window of b's recording, and starts the goroutines that encode and send. fileNames names the
// locations. period is the time between ticks.
func (a *Agent) Start(begin time.Time, period time.Duration, b *profile.Builder, fileNames profile.Resolver) {
	names := profile.NewNames(b, nil)
	a.windows = newWindowBuilder(begin, a.opts.Window, a.resources.readLater)
	a.windows.onClose = b.BeginEpoch
	e := &encoder{
		names: names, resolver: fileNames, resources: a.resources, aggregate: a.opts.Aggregate, period: period,
		version: a.opts.Version,
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.abort = cancel
	go a.resources.run(a.senderEnded)
	a.exporting.Go(func() { a.export(e) })
	go func() {
		defer close(a.senderEnded)
		a.sender.run(ctx, a.stopping)
	}()
	a.service = openService(a.opts.Logf)
	a.service.notify("READY=1")
}

func (a *Agent) export(e *encoder) {
	dropper, canDrop := e.resolver.(interface{ DropUnused() })
	droppedAt := time.Now()
	for w := range a.windows.finished {
		body, intervals := e.encode(w)
		a.windows.encoded()
		a.Metrics.windows.Add(1)
		if len(body) > 0 {
			a.sender.enqueue(body, intervals)
		}
		if canDrop && time.Since(droppedAt) > dropUnusedInterval {
			dropper.DropUnused()
			droppedAt = time.Now()
		}
	}
}

const dropUnusedInterval = 10 * time.Second

// Add implements [profile.Sink].
func (a *Agent) Add(iv profile.Interval) { a.windows.Add(iv) }

// RefreshCut implements [profile.Cutter]. The watchdog sees that samples are read, not only that the process runs.
func (a *Agent) RefreshCut(at int64, cut func()) {
	a.windows.RefreshCut(at, cut)
	a.service.notify("WATCHDOG=1")
}

// HeldStacks implements [profile.StackHolder]. No stack is evicted while a window is encoded.
func (a *Agent) HeldStacks() (stacks iter.Seq[sample.StackID], ok bool) {
	return a.windows.heldStacks(), a.windows.unencoded.Load() == 0
}

// Finish sends the last window and the waiting messages, for at most [Options].Flush. It returns the number of
// intervals dropped at this end, neither sent nor spooled.
func (a *Agent) Finish(at time.Time) (lost int) {
	a.ended.Store(true)
	a.service.notify("STOPPING=1") // the time to send is limited by Flush, not by the watchdog
	a.windows.finish(at)
	a.exporting.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), a.opts.Flush)
	defer cancel()
	close(a.stopping)
	select {
	case <-a.senderEnded:
	case <-ctx.Done():
		a.abort()
		<-a.senderEnded
	}
	a.abort()
	lost = a.sender.finish(ctx)
	if a.stopServer != nil {
		a.stopServer()
	}
	return lost
}
