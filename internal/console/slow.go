// SPDX-License-Identifier: Apache-2.0

package console

import (
	"io"
	"os"
	"sync"
	"time"

	"prywalk/internal/printable"
)

// Slow says in one line on stderr, if that is a terminal, what prywalk is at, once that has taken a second.
type Slow struct {
	mu    sync.Mutex
	once  sync.Once
	shown bool
	quit  chan struct{}
	done  chan struct{}
}

// SlowAfter is how long something takes before it is told.
const SlowAfter = time.Second

// ProgressEvery is the time between two states of a line that tells how something goes.
const ProgressEvery = 500 * time.Millisecond

// StartSlow begins to tell what text says, which may be "". quiet: nothing is told.
func StartSlow(quiet bool, text func() string) *Slow {
	p := &Slow{quit: make(chan struct{}), done: make(chan struct{})}
	if quiet || IsQuiet() || !IsTerminal(os.Stderr) {
		close(p.done)
		return p
	}
	go p.run(text)
	return p
}

func (p *Slow) run(text func() string) {
	defer close(p.done)
	defer p.Pause()
	begun := time.Now()
	tick := time.NewTicker(ProgressEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
			if time.Since(begun) >= SlowAfter {
				p.show(text())
			}
		}
	}
}

func (p *Slow) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text != "" {
		_, _ = os.Stderr.WriteString("\r\x1b[K" + printable.String(text))
		p.shown = true
	}
}

// Pause takes the line away, for other output.
func (p *Slow) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		_, _ = os.Stderr.WriteString("\r\x1b[K")
		p.shown = false
	}
}

// Stop ends it, before other output. It may be called again.
func (p *Slow) Stop() {
	p.once.Do(func() { close(p.quit) })
	<-p.done
}

// firstWrite calls before when the first bytes are written.
type firstWrite struct {
	w      io.Writer
	before func()
}

// Write implements io.Writer.
func (f *firstWrite) Write(b []byte) (int, error) {
	if f.before != nil {
		f.before()
		f.before = nil
	}
	return f.w.Write(b)
}

// BeforeFirst gives a writer that calls before when the first bytes are written.
func BeforeFirst(w io.Writer, before func()) io.Writer { return &firstWrite{w, before} }
