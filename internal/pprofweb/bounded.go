// SPDX-License-Identifier: Apache-2.0

package pprofweb

import (
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/filememory"
	"prywalk/internal/process"
	rec "prywalk/internal/profile"
)

const (
	// frameCost is memory per frame of the flame graph, bytes; other pages take otherPages times that.
	frameCost  = 700
	otherPages = 2
	// graphLimit is the time limit of dot.
	graphLimit = 30 * time.Second
	// killInterval repeats the kill: dot may not have been started at the first try.
	killInterval = 100 * time.Millisecond
)

// mergeTimes joins samples that differ only in time. It modifies p.
func mergeTimes(p *profile.Profile) (*profile.Profile, error) {
	for _, s := range p.Sample {
		delete(s.NumLabel, rec.LabelEnd)
		delete(s.NumUnit, rec.LabelEnd)
	}
	return profile.Merge([]*profile.Profile{p})
}

func costOf(p *profile.Profile) int64 {
	lines := func(all []*profile.Location) (n int64) {
		for _, l := range all {
			n += int64(1 + len(l.Line))
		}
		return n
	}
	n := 2 * lines(p.Location)
	for _, s := range p.Sample {
		n += 1 + lines(s.Location)
	}
	return n * frameCost
}

// serialRenderer makes one page at a time, within the budget: pprof makes each from a copy of the profile. The cost was
// measured.
type serialRenderer struct {
	mu   sync.Mutex
	cost int64
}

func (o *serialRenderer) withinBudget(path string, page http.Handler) http.Handler {
	cost := o.cost
	if path != "/flamegraph" {
		cost *= otherPages
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		memory := filememory.Process().AccountOfWhole("the page " + path)
		defer memory.Close()
		if err := memory.Take(cost, "contents"); err != nil {
			http.Error(w, "prywalk: "+err.Error(), http.StatusInsufficientStorage)
			return
		}
		if path != "/graph" {
			page.ServeHTTP(w, r)
			return
		}
		withinLimit(w, r, page, graphLimit)
	})
}

// withinLimit kills dot after the limit: it can take hours for 80 functions that call each other.
func withinLimit(w http.ResponseWriter, r *http.Request, page http.Handler, limit time.Duration) {
	answer := &timeoutWriter{ResponseWriter: w}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for wait := limit; ; wait = killInterval {
			select {
			case <-done:
				return
			case <-time.After(wait):
			}
			answer.late.Store(true)
			killChildren()
		}
	}()
	defer func() { // no kill may hit the dot of the next page
		close(done)
		<-ended
	}()
	page.ServeHTTP(answer, r)
	if answer.late.Load() && !answer.begun {
		http.Error(w, "prywalk: dot takes longer than "+limit.String()+" to draw this graph: too many functions call "+
			"each other; look at the flame graph, or ask for fewer nodes (?n=20).", http.StatusServiceUnavailable)
	}
}

type timeoutWriter struct {
	http.ResponseWriter
	late  atomic.Bool
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (u *timeoutWriter) WriteHeader(status int) {
	if u.begun = u.begun || !u.late.Load(); u.begun {
		u.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (u *timeoutWriter) Write(b []byte) (int, error) {
	if u.begun = u.begun || !u.late.Load(); !u.begun {
		return len(b), nil
	}
	return u.ResponseWriter.Write(b)
}

func killChildren() {
	for _, child := range process.Children(os.Getpid()) {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
}
