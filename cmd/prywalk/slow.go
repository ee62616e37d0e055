package main

import (
	"io"
	"os"
	"sync"
	"time"

	"prywalk/internal/printable"
)

// slow says in one line on stderr, if that is a terminal, what prywalk is at, once that has taken a second.
type slow struct {
	mu    sync.Mutex
	once  sync.Once
	shown bool
	quit  chan struct{}
	done  chan struct{}
}

// slowAfter is how long something takes before it is told.
const slowAfter = time.Second

// startSlow begins to tell what text says, which may be "". quiet: nothing is told.
func startSlow(quiet bool, text func() string) *slow {
	p := &slow{quit: make(chan struct{}), done: make(chan struct{})}
	if quiet || !isTerminal(os.Stderr) {
		close(p.done)
		return p
	}
	go p.run(text)
	return p
}

func (p *slow) run(text func() string) {
	defer close(p.done)
	defer p.pause()
	begun := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
			if time.Since(begun) >= slowAfter {
				p.show(text())
			}
		}
	}
}

func (p *slow) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text != "" {
		_, _ = os.Stderr.WriteString("\r\x1b[K" + printable.String(text))
		p.shown = true
	}
}

// pause takes the line away, for other output.
func (p *slow) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		_, _ = os.Stderr.WriteString("\r\x1b[K")
		p.shown = false
	}
}

// stop ends it, before other output. It may be called again.
func (p *slow) stop() {
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
